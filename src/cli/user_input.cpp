#include "cli/user_input.h"

#include <string_view>
#include <utility>

namespace linnet {

namespace {

constexpr std::string_view kQuotes = "\"\"\"";

// Without the white space at the end, which nobody sees.
std::string_view trimmed_end(std::string_view line) {
  return line.substr(0, line.find_last_not_of(" \t") + 1);
}

}  // namespace

bool UserInput::add(const std::string& line) {
  std::string_view rest = line;
  if (!pending_) {
    if (!rest.starts_with(kQuotes)) {
      text_ = line;
      quoted_ = false;
      return true;
    }
    quoted_ = true;
    rest.remove_prefix(kQuotes.size());
    pending_ = true;
  } else {
    text_ += '\n';
  }
  const std::string_view seen = trimmed_end(rest);
  if (!seen.ends_with(kQuotes)) {
    text_ += rest;
    return false;
  }
  text_ += seen.substr(0, seen.size() - kQuotes.size());
  pending_ = false;
  // The breaks beside the quotes stand for nothing.
  if (text_.starts_with('\n')) text_.erase(0, 1);
  if (text_.ends_with('\n')) text_.pop_back();
  return true;
}

std::string UserInput::take() {
  pending_ = false;
  return std::exchange(text_, {});
}

}  // namespace linnet
