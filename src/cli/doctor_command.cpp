#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "base/json.h"
#include "cli/command.h"
#include "cli/doctor_checks.h"

namespace linnet {
namespace {

std::string_view status_style(CheckStatus status) {
  switch (status) {
    case CheckStatus::ok:
      return kGreen;
    case CheckStatus::warn:
      return kYellow;
    case CheckStatus::error:
      return kRed;
    case CheckStatus::skip:
      return kDim;
  }
  return kPlain;
}

void print_results(Output& out, const std::vector<CheckResult>& results) {
  for (const CheckResult& result : results) {
    const std::string status = fmt::format("{:<5}", check_status_name(result.status));
    out.write(styled(out.terminal().out_color, status_style(result.status), status));
    out.foreign(fmt::format(" {:<10} {}\n", result.name, result.detail));
  }
}

Json results_json(const std::vector<CheckResult>& results, bool healthy) {
  Json checks = Json::array();
  for (const CheckResult& result : results) {
    Json check = Json::object();
    check.set("name", result.name);
    check.set("status", check_status_name(result.status));
    check.set("detail", result.detail);
    checks.push_back(std::move(check));
  }
  Json json = Json::object();
  json.set("ok", healthy);
  json.set("checks", std::move(checks));
  return json;
}

}  // namespace

Command make_doctor_command() {
  auto json = std::make_shared<bool>(false);
  Command command;
  command.name = "doctor";
  command.summary = "Check this machine, this installation and, if one is named, a model";
  command.details =
      "Without --model (or LINNET_MODEL) no model is checked. Leaves with 1 when a check ends in "
      "an error, not for warnings. A check that rests on a failed one is skipped.";
  command.examples = {"linnet doctor", "linnet doctor --model tiny", "linnet doctor --json"};
  command.options = {{.name = "json", .help = "print a JSON record", .set = to_flag(*json)}};
  command.run = [json](CommandContext& context) {
    const std::vector<CheckResult> results = run_checks(context.globals);
    const bool healthy = std::none_of(results.begin(), results.end(), [](const CheckResult& each) {
      return each.status == CheckStatus::error;
    });
    if (*json) {
      context.out.line(results_json(results, healthy).dump({.indent = 2}));
    } else {
      print_results(context.out, results);
    }
    return healthy ? 0 : 1;
  };
  return command;
}

}  // namespace linnet
