// Shared by the tests of the Jinja engine: one render at the fixed clock of the golden data.
#pragma once

#include <fstream>
#include <functional>
#include <optional>
#include <string>

#include "base/json.h"
#include "text/jinja.h"

namespace linnet {

inline constexpr CivilTime kTestClock{2025, 7, 8, 9, 5, 3};

inline JinjaOutput render_all(const std::string& source, const std::string& context = "{}",
                              const JinjaLimits& limits = {}) {
  JinjaOptions options;
  options.now = kTestClock;
  options.limits = limits;
  return JinjaTemplate::parse(source, "test").render(Json::parse(context, "context"), options);
}

inline std::string render(const std::string& source, const std::string& context = "{}") {
  return render_all(source, context).text;
}

// The class of the error, or nullopt when there is none.
inline std::optional<JinjaErrorKind> error_kind(const std::string& source,
                                                const std::string& context = "{}") {
  try {
    render(source, context);
  } catch (const JinjaError& error) {
    return error.kind();
  }
  return std::nullopt;
}

inline void each_line(const std::string& path, const std::function<void(const Json&)>& use) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) use(Json::parse(line, path, {.allow_duplicate_keys = true}));
}

}  // namespace linnet
