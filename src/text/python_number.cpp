#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include "text/python_identifier.h"
#include "text/python_literal.h"

namespace linnet {
namespace {

bool is_digit_of(char c, int base) {
  if (c >= '0' && c <= '9') return c - '0' < base;
  const char lower = static_cast<char>(c | 0x20);
  return base == 16 && lower >= 'a' && lower <= 'f';
}

// Digits with single underscores between them; appended without the underscores.
bool read_digits(std::string_view text, std::size_t& at, int base, std::string& digits) {
  const std::size_t before = digits.size();
  while (at < text.size()) {
    const bool joined = text[at] == '_' && digits.size() > before;
    const std::size_t digit = at + (joined ? 1 : 0);
    if (digit >= text.size() || !is_digit_of(text[digit], base)) break;
    digits += text[digit];
    at = digit + 1;
  }
  return digits.size() > before;
}

// Digits of base 2, 8 or 16 in base 10.
std::string to_decimal(std::string_view digits, int base) {
  constexpr std::uint64_t kLimb = 1'000'000'000;
  std::vector<std::uint32_t> limbs;  // little endian, each below kLimb
  constexpr std::size_t kStep = 7;   // digits at once, so that 16^7 * kLimb fits 64 bits
  for (std::size_t at = 0; at < digits.size(); at += kStep) {
    const std::string_view part = digits.substr(at, kStep);
    std::uint64_t carry = 0;
    std::from_chars(part.data(), part.data() + part.size(), carry, base);
    std::uint64_t factor = 1;
    for (std::size_t i = 0; i < part.size(); ++i) factor *= static_cast<std::uint64_t>(base);
    for (std::uint32_t& limb : limbs) {
      const std::uint64_t sum = limb * factor + carry;
      limb = static_cast<std::uint32_t>(sum % kLimb);
      carry = sum / kLimb;
    }
    if (carry > 0) limbs.push_back(static_cast<std::uint32_t>(carry));
  }
  std::string decimal = limbs.empty() ? "0" : std::to_string(limbs.back());
  for (std::size_t i = limbs.size(); i > 1; --i) decimal += fmt::format("{:09}", limbs[i - 2]);
  return decimal;
}

std::optional<Json> whole_number(std::string digits, int base) {
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  std::uint64_t small = 0;
  const char* end = digits.data() + digits.size();
  if (std::from_chars(digits.data(), end, small, base).ec == std::errc() &&
      small <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return Json(static_cast<std::int64_t>(small));
  }
  // Python prints no longer ones, and this bounds the conversion.
  if (static_cast<double>(digits.size() - 1) * std::log10(base) > LargeInteger::kMaxDigits) {
    return std::nullopt;
  }
  if (base != 10) digits = to_decimal(digits, base);
  if (digits.size() > LargeInteger::kMaxDigits) return std::nullopt;
  return Json(LargeInteger{std::move(digits)});
}

// What from_chars cannot hold is either too large or so small that it is 0.
bool is_tiny(const std::string& number) {
  const std::size_t mark = std::min(number.find('e'), number.size());
  const std::size_t point = std::min(number.find('.'), mark);
  const std::size_t first = number.find_first_of("123456789");
  if (first >= mark) return true;
  long exponent = 0;
  if (mark < number.size()) {
    const bool minus = number[mark + 1] == '-';
    const char* digits = number.data() + mark + 1 + (minus || number[mark + 1] == '+' ? 1 : 0);
    // Beyond any text's length, and far from an overflow of the sum below.
    constexpr long kHuge = std::numeric_limits<long>::max() / 4;
    if (std::from_chars(digits, number.data() + number.size(), exponent).ec != std::errc()) {
      exponent = kHuge;
    }
    exponent = std::min(exponent, kHuge) * (minus ? -1 : 1);
  }
  return static_cast<long>(point) - static_cast<long>(first) + exponent < 0;
}

std::optional<Json> real_number(const std::string& number) {
  double value = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
  if (read.ec == std::errc::result_out_of_range) {
    if (!is_tiny(number)) return std::nullopt;
    return Json(0.0);
  }
  return Json(value);
}

std::optional<Json> read_with_base(std::string_view text, std::size_t& at, int base) {
  at += 2;
  if (at < text.size() && text[at] == '_') ++at;
  std::string digits;
  if (!read_digits(text, at, base, digits)) return std::nullopt;
  return whole_number(std::move(digits), base);
}

std::optional<Json> read_decimal(std::string_view text, std::size_t& at) {
  std::string number;
  bool real = false;
  const bool whole = read_digits(text, at, 10, number);
  if (at < text.size() && text[at] == '.') {
    real = true;
    number += text[at++];
    if (!read_digits(text, at, 10, number) && !whole) return std::nullopt;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    real = true;
    number += 'e';
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) number += text[at++];
    if (!read_digits(text, at, 10, number)) return std::nullopt;
  }
  if (real) return real_number(number);
  const bool leading_zero = number[0] == '0';
  if (leading_zero && number.find_first_not_of('0') != std::string::npos) return std::nullopt;
  return whole_number(std::move(number), 10);
}

}  // namespace

std::optional<Json> read_python_number(std::string_view text, std::size_t& at) {
  int base = 10;
  if (text[at] == '0' && at + 1 < text.size()) {
    const char letter = static_cast<char>(text[at + 1] | 0x20);
    base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 10;
  }
  const auto number = base == 10 ? read_decimal(text, at) : read_with_base(text, at, base);
  // 1j, 1_, 0b12 and the like.
  std::size_t behind = at;
  if (at < text.size() && (text[at] == '.' || is_digit_of(text[at], 10))) return std::nullopt;
  if (read_python_identifier(text, behind)) return std::nullopt;
  return number;
}

}  // namespace linnet
