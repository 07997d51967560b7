#include "golden_runner/jinja_case.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "text/jinja.h"

namespace golden {

using linnet::Json;

void for_each_json_line(const std::filesystem::path& path,
                        const std::function<void(const Json&)>& use) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path.string() + ": cannot be opened");
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty()) continue;
    use(Json::parse(line, fmt::format("{}:{}", path.string(), number),
                    {.allow_duplicate_keys = true}));
  }
}

std::string difference(const std::string& found, const std::string& expected) {
  const auto parted = std::mismatch(found.begin(), found.end(), expected.begin(), expected.end());
  const auto at = static_cast<std::size_t>(parted.first - found.begin());
  const std::size_t from = at < 20 ? 0 : at - 20;
  return fmt::format("differs at byte {}: found {} expected {}", at,
                     linnet::json_quote(found.substr(from, 60), true),
                     linnet::json_quote(expected.substr(from, 60), true));
}

namespace {

// A render that outgrows its budget is a failure at run time, as Python's own limits are.
std::string error_class(linnet::JinjaErrorKind kind) {
  const bool limit = kind == linnet::JinjaErrorKind::limit;
  return std::string(linnet::jinja_error_kind_name(limit ? linnet::JinjaErrorKind::runtime : kind));
}

void check_error(const std::string& name, const Json& row, const linnet::JinjaError& error,
                 Report& report) {
  const Json* expected = row.find("error");
  if (expected == nullptr) return report.fail(name, fmt::format("fails: {}", error.what()));
  if (error_class(error.kind()) != expected->as_string()) {
    return report.fail(name,
                       fmt::format("error class {} instead of {}: {}", error_class(error.kind()),
                                   expected->as_string(), error.what()));
  }
  const bool raised = error.kind() == linnet::JinjaErrorKind::raised;
  if (raised && error.detail() != row.at("message").as_string()) {
    return report.fail(name, difference(error.detail(), row.at("message").as_string()));
  }
  report.pass(name);
}

}  // namespace

void check_render(const std::string& name, const Json& row, const std::string& source,
                  const Json& context, Report& report) {
  linnet::JinjaOptions options;
  options.now = linnet::CivilTime{2025, 7, 8, 9, 5, 3};
  try {
    const auto parsed = linnet::JinjaTemplate::parse(source, "template");
    const std::string text = parsed.render(context, options).text;
    const Json* expected = row.find("expected");
    if (expected == nullptr) {
      return report.fail(name,
                         fmt::format("should fail ({}) but gives {}", row.at("error").as_string(),
                                     linnet::json_quote(text.substr(0, 200))));
    }
    if (text != expected->as_string())
      return report.fail(name, difference(text, expected->as_string()));
    report.pass(name);
  } catch (const linnet::JinjaError& error) {
    check_error(name, row, error, report);
  }
}

}  // namespace golden
