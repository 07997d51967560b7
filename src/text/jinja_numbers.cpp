#include "text/jinja_numbers.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "text/jinja_unicode.h"

namespace linnet::jinja {
namespace {

std::string_view stripped(std::string_view text) {
  text = text.substr(0, trailing_space(text));
  return text.substr(leading_space(text));
}

// Takes single underscores out from between digits; nullopt when one stands elsewhere.
std::optional<std::string> without_underscores(std::string_view digits) {
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (digits[i] != '_') {
      out.push_back(digits[i]);
    } else if (i == 0 || i + 1 == digits.size() || digits[i - 1] == '_') {
      return std::nullopt;
    }
  }
  return out;
}

int prefix_base(std::string_view text) {
  if (text.size() < 2 || text[0] != '0') return 10;
  switch (text[1]) {
    case 'x':
    case 'X':
      return 16;
    case 'o':
    case 'O':
      return 8;
    case 'b':
    case 'B':
      return 2;
    default:
      return 10;
  }
}

}  // namespace

std::optional<Value> parse_whole(std::string_view text, int base) {
  text = stripped(text);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const int prefixed = prefix_base(text);
  if (prefixed != 10 && (base == 0 || base == prefixed)) {
    text.remove_prefix(2);
    if (text.starts_with('_')) text.remove_prefix(1);
    base = prefixed;
  }
  if (base == 0) base = 10;
  if (base < 2 || base > 36) return std::nullopt;
  const auto digits = without_underscores(text);
  if (!digits) return std::nullopt;
  const auto value = Integer::parse(*digits, base);
  if (!value) return std::nullopt;
  return Value(negative ? value->negated() : *value);
}

std::optional<double> parse_real(std::string_view text) {
  const auto spelled = without_underscores(stripped(text));
  if (!spelled || spelled->empty()) return std::nullopt;
  std::string_view rest = *spelled;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  const std::string word = lower(rest);
  double value = 0;
  if (word == "inf" || word == "infinity") {
    value = std::numeric_limits<double>::infinity();
  } else if (word == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    if (rest.empty() || rest[0] == '-' || rest[0] == '+') return std::nullopt;
    const auto end = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (end.ptr != rest.data() + rest.size() || end.ec == std::errc::invalid_argument)
      return std::nullopt;
    if (end.ec == std::errc::result_out_of_range)
      value = std::strtod(std::string(rest).c_str(), nullptr);
  }
  return negative ? -value : value;
}

}  // namespace linnet::jinja
