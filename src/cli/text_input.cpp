#include "cli/text_input.h"

#include <fmt/core.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file_map.h"
#include "base/utf8.h"
#include "cli/line_editor.h"
#include "cli/options.h"

namespace linnet {

namespace {

constexpr const char* kInputName = "standard input";
constexpr std::uint64_t kMaxText = std::uint64_t{256} << 20;

std::string input_text(const Terminal& terminal, const std::string& what) {
  if (terminal.in) {
    throw UsageError(
        fmt::format("{} is missing: give it as an argument or on standard input", what));
  }
  return read_all(STDIN_FILENO, kInputName);
}

}  // namespace

void require_utf8(const std::string& text, const std::string& name) {
  if (const auto offset = find_invalid_utf8(text)) {
    fail(ErrorCode::invalid_argument, fmt::format("{}: invalid UTF-8 at byte {}", name, *offset));
  }
}

std::string argument_or_input(const std::optional<std::string>& argument, const Terminal& terminal,
                              const std::string& what) {
  if (argument) {
    require_utf8(*argument, what);
    return *argument;
  }
  std::string text = input_text(terminal, what);
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  require_utf8(text, kInputName);
  return text;
}

std::string joined_texts(const std::vector<std::string>& paths, std::string_view fallback) {
  if (paths.empty()) return std::string(fallback);
  std::string text;
  for (const std::string& path : paths) {
    const std::string part = read_text_file(path, kMaxText);
    require_utf8(part, path);
    if (!text.empty()) text += '\n';
    text += part;
  }
  return text;
}

Json json_input(const std::optional<std::string>& path, const Terminal& terminal,
                const std::string& what) {
  if (path && *path != "-") return Json::parse_file(*path);
  return Json::parse(input_text(terminal, what), kInputName);
}

}  // namespace linnet
