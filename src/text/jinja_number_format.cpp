#include "text/jinja_number_format.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "text/jinja_repr.h"
#include "text/jinja_unicode.h"

namespace linnet::jinja {
namespace {

constexpr std::int64_t kMaxPrecision = 1000;

std::int64_t read_number(std::string_view spec, std::size_t& at) {
  std::int64_t value = 0;
  while (at < spec.size() && spec[at] >= '0' && spec[at] <= '9') {
    value = std::min<std::int64_t>(value * 10 + (spec[at++] - '0'), 1 << 30);
  }
  return value;
}

bool is_align(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

// The digits of a whole number without its sign.
std::string whole_digits(const Value& value, const Layout& layout) {
  const Integer whole = value.whole();
  const char type = layout.type;
  if (type == 0 || type == 'd' || type == 'n') {
    return (whole.is_negative() ? whole.negated() : whole).to_string();
  }
  const int base = type == 'o' ? 8 : type == 'b' ? 2 : 16;
  std::string digits;
  Integer rest = whole.is_negative() ? whole.negated() : whole;
  for (const Integer divisor(base); !rest.is_zero();) {
    const Integer::Division step = Integer::divide(rest, divisor);
    const auto digit = static_cast<std::size_t>(step.remainder.to_int64().value_or(0));
    digits += (type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef")[digit];
    rest = step.quotient;
  }
  if (digits.empty()) digits = "0";
  if (layout.alternate) digits += std::string(1, type) + "0";
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string real_digits(double value, const Layout& layout) {
  const double size = std::fabs(value);
  const int precision = static_cast<int>(layout.precision < 0 ? 6 : layout.precision);
  if (std::isnan(value) || std::isinf(value)) return std::isnan(value) ? "nan" : "inf";
  switch (layout.type) {
    case 'f':
    case 'F':
      return fmt::format("{:.{}f}", size, precision);
    case 'e':
      return fmt::format("{:.{}e}", size, precision);
    case 'E':
      return fmt::format("{:.{}E}", size, precision);
    case 'g':
      return fmt::format("{:.{}g}", size, std::max(precision, 1));
    case 'G':
      return fmt::format("{:.{}G}", size, std::max(precision, 1));
    case '%':
      return fmt::format("{:.{}f}%", size * 100, precision);
    default:
      break;
  }
  if (layout.precision >= 0) {
    std::string text = fmt::format("{:.{}g}", size, std::max(precision, 1));
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
  }
  return real_repr(size);
}

void group(std::string& digits, char separator) {
  std::size_t end = digits.find_first_not_of("0123456789");
  if (end == std::string::npos) end = digits.size();
  for (std::size_t at = end; at > 3;) {
    at -= 3;
    digits.insert(at, 1, separator);
  }
}

Text padded(Heap& heap, const Text& body, std::size_t sign_size, const Layout& layout, char align) {
  const auto size = static_cast<std::int64_t>(character_count(body.bytes()));
  if (layout.width <= size) return body;
  const auto missing = static_cast<std::size_t>(layout.width - size);
  heap.reserve(missing * layout.fill.size() + body.size());
  const std::size_t left = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  Text out;
  if (align == '=') out.append(body, 0, sign_size);
  for (std::size_t i = 0; i < left; ++i) out.append(layout.fill);
  out.append(body, align == '=' ? sign_size : 0, body.size());
  for (std::size_t i = left; i < missing; ++i) out.append(layout.fill);
  return out;
}

}  // namespace

Layout parse_layout(std::string_view spec) {
  Layout layout;
  std::size_t at = 0;
  const std::size_t first = spec.empty() ? 0 : character_size(spec, 0);
  if (spec.size() > first && is_align(spec[first])) {
    layout.fill = std::string(spec.substr(0, first));
    layout.align = spec[first];
    at = first + 1;
  } else if (!spec.empty() && is_align(spec[0])) {
    layout.align = spec[at++];
  }
  const auto next_is = [&](std::string_view set) {
    return at < spec.size() && set.find(spec[at]) != std::string_view::npos;
  };
  if (next_is("+- ")) layout.sign = spec[at++];
  if (next_is("#")) layout.alternate = ++at != 0;
  if (next_is("0")) {
    ++at;
    if (layout.align == 0) {
      layout.fill = "0";
      layout.align = '=';
    }
  }
  layout.width = read_number(spec, at);
  if (next_is(",_")) layout.grouping = spec[at++];
  if (next_is(".")) layout.precision = read_number(spec, ++at);
  if (next_is("bcdeEfFgGnosxX%")) layout.type = spec[at++];
  if (at != spec.size()) value_error("Invalid format specifier");
  return layout;
}

Text layout_number(Heap& heap, const Value& value, const Layout& layout) {
  static constexpr std::string_view kRealTypes = "eEfFgG%";
  if (layout.type == 's') value_error("Unknown format code 's' for a number");
  if (layout.precision > kMaxPrecision) value_error("precision too big");
  if (layout.type == 'c') {
    const auto code = value.is_whole() ? value.whole().to_int64() : std::nullopt;
    if (!code || *code < 0 || *code > 0x10FFFF) value_error("%c arg not in range(0x110000)");
    std::string character;
    append_code_point(character, static_cast<std::uint32_t>(*code));
    return layout_text(heap, Text(std::move(character)), layout);
  }
  const bool real = value.is(Type::real) ||
                    (layout.type != 0 && kRealTypes.find(layout.type) != std::string_view::npos);
  if (real && layout.type != 0 && kRealTypes.find(layout.type) == std::string_view::npos) {
    value_error(fmt::format("Unknown format code '{}' for object of type 'float'", layout.type));
  }
  const double number = real ? value.number() : 0;
  const bool negative = real ? std::signbit(number) : value.whole().is_negative();
  std::string digits = real ? real_digits(number, layout) : whole_digits(value, layout);
  if (layout.grouping != 0) group(digits, layout.grouping);
  const std::string sign = negative ? "-" : layout.sign == '-' ? "" : std::string(1, layout.sign);
  return padded(heap, Text(sign + digits), sign.size(), layout,
                layout.align == 0 ? '>' : layout.align);
}

Text layout_text(Heap& heap, const Text& text, const Layout& layout) {
  if (layout.type != 0 && layout.type != 's' && layout.type != 'c') {
    value_error(fmt::format("Unknown format code '{}' for object of type 'str'", layout.type));
  }
  if (layout.grouping != 0)
    value_error(fmt::format("Cannot specify '{}' with 's'.", layout.grouping));
  Text body = text;
  if (layout.precision >= 0) {
    std::size_t end = 0;
    for (std::int64_t i = 0; i < layout.precision && end < text.size(); ++i) {
      end += character_size(text.bytes(), end);
    }
    body = text.slice(0, end);
  }
  return padded(heap, body, 0, layout,
                layout.align == 0 || layout.align == '=' ? '<' : layout.align);
}

}  // namespace linnet::jinja
