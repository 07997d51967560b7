// What a call failed with, so that a test can look at code and message.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"

namespace linnet {

struct Fault {
  ErrorCode code;
  std::string message;
  bool mentions(const std::string& text) const { return message.find(text) != std::string::npos; }
};

// Nothing when the call succeeds. Other exceptions than Error leave it: they fail the test.
template <typename Call>
std::optional<Fault> fault_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return Fault{error.code(), error.what()};
  }
  return std::nullopt;
}

}  // namespace linnet
