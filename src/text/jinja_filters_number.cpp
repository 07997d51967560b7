// Filters that make numbers, or print them.
#include <fmt/core.h>

#include <cmath>
#include <cstdlib>

#include "text/jinja_filters.h"
#include "text/jinja_numbers.h"

namespace linnet::jinja {
namespace {

std::optional<double> as_real(const Value& value) {
  if (value.is_undefined()) missing_fault(value);
  if (value.is_number()) return value.number();
  return value.is_text() ? parse_real(value.bytes()) : std::nullopt;
}

Value int_filter(Runtime&, const Value& input, const Args& args) {
  const Bound bound("int", args, {"default", "base"});
  const Value otherwise = bound.value(0, Value(std::int64_t{0}));
  if (input.is_undefined()) missing_fault(input);
  if (input.is_whole()) return Value(input.whole());
  if (input.is_text()) {
    if (const auto whole = parse_whole(input.bytes(), static_cast<int>(bound.integer(1, 10))))
      return *whole;
  }
  const auto real = as_real(input);
  return real && std::isfinite(*real) ? Value(Integer::from_double(*real)) : otherwise;
}

Value float_filter(Runtime&, const Value& input, const Args& args) {
  const Bound bound("float", args, {"default"});
  const auto real = as_real(input);
  return real ? Value(*real) : bound.value(0, Value(0.0));
}

Value abs_filter(Runtime&, const Value& input, const Args& args) {
  const Bound bound("abs", args, {});
  if (!input.is_number())
    type_error(fmt::format("bad operand type for abs(): '{}'", type_name(input)));
  if (input.is(Type::real)) return Value(std::fabs(input.real()));
  const Integer whole = input.whole();
  return Value(whole.is_negative() ? whole.negated() : whole);
}

// To the nearest decimal, ties (of the exact binary value) to even, as Python rounds.
double rounded(double value, std::int64_t precision) {
  if (!std::isfinite(value) || precision > 300) return value;
  if (precision < 0) {
    const double unit = std::pow(10.0, static_cast<double>(-precision));
    return std::isfinite(unit) ? std::nearbyint(value / unit) * unit : 0.0;
  }
  return std::strtod(fmt::format("{:.{}f}", value, precision).c_str(), nullptr);
}

Value round_filter(Runtime&, const Value& input, const Args& args) {
  const Bound bound("round", args, {"precision", "method"});
  const std::int64_t precision = bound.integer(0, 0);
  const std::string method = bound.given(1) && bound[1]->is_text() ? bound[1]->bytes() : "common";
  if (method != "common" && method != "ceil" && method != "floor") {
    value_error("method must be common, ceil or floor");
  }
  if (!input.is_number()) {
    type_error(fmt::format("type {} doesn't define __round__ method", type_name(input)));
  }
  if (method == "common") {
    if (input.is_whole() && precision >= 0) return Value(input.whole());
    const double result = rounded(input.number(), precision);
    return input.is_whole() ? Value(Integer::from_double(result)) : Value(result);
  }
  const double unit = std::pow(10.0, static_cast<double>(precision));
  const double scaled = input.number() * unit;
  return Value((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / unit);
}

Value file_size(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("filesizeformat", args, {"binary"});
  const auto size = as_real(input);
  if (!size) value_error("filesizeformat: expected a number");
  const bool binary = bound.flag(0, false);
  const double base = binary ? 1024 : 1000;
  static constexpr const char* kPrefixes = "kMGTPEZY";
  if (*size == 1) return runtime.heap.text("1 Byte");
  if (*size < base)
    return runtime.heap.text(fmt::format("{} Bytes", static_cast<std::int64_t>(*size)));
  double unit = base;
  int prefix = 0;
  while (prefix < 7 && *size >= unit * base) {
    unit *= base;
    ++prefix;
  }
  std::string letter(1, kPrefixes[prefix]);
  if (binary) letter = (prefix == 0 ? "K" : letter) + "i";
  return runtime.heap.text(fmt::format("{:.1f} {}B", *size / unit, letter));
}

constexpr Filter kFilters[] = {{"int", int_filter},
                               {"float", float_filter},
                               {"abs", abs_filter},
                               {"round", round_filter},
                               {"filesizeformat", file_size}};

}  // namespace

std::span<const Filter> number_filters() { return kFilters; }

}  // namespace linnet::jinja
