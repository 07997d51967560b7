#include "cli/task_records.h"

#include <fmt/core.h>

#include <charconv>
#include <system_error>

#include "base/error.h"

namespace linnet {

Json json_float(float value) {
  const std::string text = fmt::format("{}", value);
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  LINNET_CHECK(code == std::errc{} && end == text.data() + text.size(), text);
  return Json(number);
}

void set_range(Json& record, const TextRange& range) {
  record.set("start", range.begin);
  record.set("end", range.end);
  record.set("start_character", range.begin_character);
  record.set("end_character", range.end_character);
}

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r' || c == '\t') c = ' ';
  }
  return text;
}

}  // namespace linnet
