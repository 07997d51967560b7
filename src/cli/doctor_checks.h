// The checks of `linnet doctor`, in order. A check that needs an earlier one is skipped when that
// one failed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"

namespace linnet {

enum class CheckStatus { ok, warn, error, skip };
std::string check_status_name(CheckStatus status);

struct CheckResult {
  std::string name;
  CheckStatus status = CheckStatus::ok;
  std::string detail;
};

// With a model only when one was named.
std::vector<CheckResult> run_checks(const GlobalOptions& globals);

// A check and what must have been without error before it. The function may throw: an error then.
struct Check {
  std::string name = {};
  std::string needs = {};                 // name of an earlier check, or empty
  std::function<CheckResult()> run = {};  // name filled in by run_in_order
};
std::vector<CheckResult> run_in_order(const std::vector<Check>& checks);

}  // namespace linnet
