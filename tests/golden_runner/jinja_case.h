// What the suites of templates share: reading lines of JSON, and one render against one row.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "base/json.h"
#include "golden_runner/suite.h"

namespace golden {

void for_each_json_line(const std::filesystem::path& path,
                        const std::function<void(const linnet::Json&)>& use);

// Renders at the clock of the golden data and compares with the row's `expected`, or its `error`
// class (a raised message must be kept word for word).
void check_render(const std::string& name, const linnet::Json& row, const std::string& source,
                  const linnet::Json& context, Report& report);

// Where two texts part, with a little of both.
std::string difference(const std::string& found, const std::string& expected);

}  // namespace golden
