// Arithmetic of jinja_operators.h: Python's number tower, joining and repeating sequences.
#include <fmt/core.h>

#include <cmath>

#include "text/jinja_format.h"
#include "text/jinja_operators.h"

namespace linnet::jinja {
namespace {

std::string_view symbol(Operator op) {
  static constexpr std::string_view kSymbols[] = {"+", "-", "*", "/", "//", "%", "** or pow()"};
  return kSymbols[static_cast<int>(op)];
}

[[noreturn]] void unsupported(const Value& a, Operator op, const Value& b) {
  if (a.is_undefined()) missing_fault(a);
  if (b.is_undefined()) missing_fault(b);
  if (op == Operator::add && a.is_text()) {
    type_error(fmt::format("can only concatenate str (not \"{}\") to str", type_name(b)));
  }
  if (op == Operator::add && a.is_list()) {
    type_error(
        fmt::format("can only concatenate {0} (not \"{1}\") to {0}", type_name(a), type_name(b)));
  }
  type_error(fmt::format("unsupported operand type(s) for {}: '{}' and '{}'", symbol(op),
                         type_name(a), type_name(b)));
}

Value escaped(Heap& heap, const Value& text) {
  return text.text().markup() ? text : heap.text(html_escape(text.text()));
}

Value join_texts(Heap& heap, const Value& a, const Value& b) {
  heap.reserve(a.text().size() + b.text().size());
  const bool markup = a.text().markup() || b.text().markup();
  Text joined = markup ? escaped(heap, a).text() : a.text();
  joined.append(markup ? escaped(heap, b).text() : b.text());
  joined.set_markup(markup);
  return heap.text(std::move(joined));
}

Value join_lists(Heap& heap, const Value& a, const Value& b) {
  heap.reserve((a.list()->items.size() + b.list()->items.size()) * sizeof(Value));
  std::vector<Value> items = a.list()->items;
  items.insert(items.end(), b.list()->items.begin(), b.list()->items.end());
  return heap.list(std::move(items), a.list()->kind);
}

bool can_repeat(const Value& value) {
  return value.is_text() || (value.is_list() && (value.list()->kind == ListKind::list ||
                                                 value.list()->kind == ListKind::tuple));
}

Value repeat(Heap& heap, const Value& value, const Integer& count) {
  const std::size_t unit =
      value.is_text() ? value.text().size() : value.list()->items.size() * sizeof(Value);
  const auto small = count.to_int64();
  if (!small && !count.is_negative()) value_error("cannot fit 'int' into an index-sized integer");
  const std::int64_t times = !small || *small < 0 || unit == 0 ? 0 : *small;
  if (times > 0 && static_cast<std::size_t>(times) > heap.limits().value_bytes / unit) {
    heap.reserve(heap.limits().value_bytes + 1);
  }
  heap.reserve(unit * static_cast<std::size_t>(times));
  if (value.is_text()) {
    Text text;
    for (std::int64_t i = 0; i < times; ++i) text.append(value.text());
    return heap.text(std::move(text));
  }
  std::vector<Value> items;
  for (std::int64_t i = 0; i < times; ++i) {
    items.insert(items.end(), value.list()->items.begin(), value.list()->items.end());
  }
  return heap.list(std::move(items), value.list()->kind);
}

double floor_modulo(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
  return rest == 0 ? std::copysign(0.0, b) : rest;
}

double floor_quotient(double a, double b) {
  double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0 && (rest < 0) != (b < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

double power_of(double a, double b) {
  if (a == 0 && b < 0) value_error("0.0 cannot be raised to a negative power");
  if (a < 0 && std::trunc(b) != b) value_error("complex numbers are not supported");
  const double result = std::pow(a, b);
  if (std::isinf(result) && std::isfinite(a) && std::isfinite(b)) {
    value_error("(34, 'Numerical result out of range')");
  }
  return result;
}

Value real_arithmetic(double a, Operator op, double b) {
  switch (op) {
    case Operator::add:
      return Value(a + b);
    case Operator::subtract:
      return Value(a - b);
    case Operator::multiply:
      return Value(a * b);
    case Operator::power:
      return Value(power_of(a, b));
    default:
      break;
  }
  if (b == 0) {
    value_error(op == Operator::divide         ? "float division by zero"
                : op == Operator::floor_divide ? "float floor division by zero"
                                               : "float modulo");
  }
  if (op == Operator::divide) return Value(a / b);
  return Value(op == Operator::floor_divide ? floor_quotient(a, b) : floor_modulo(a, b));
}

Value whole_power(const Integer& a, const Integer& b) {
  if (b.is_negative()) return Value(power_of(a.to_double(), b.to_double()));
  const Integer one(1);
  if (a.is_zero() || a == one) return Value(b.is_zero() ? one : a);
  if (a == one.negated()) return Value(b.is_odd() ? a : one);
  const auto exponent = b.to_int64();
  if (!exponent || *exponent > 20000) value_error("a whole number has too many digits");
  return Value(Integer::power(a, static_cast<std::uint64_t>(*exponent)));
}

Value whole_arithmetic(const Integer& a, Operator op, const Integer& b) {
  switch (op) {
    case Operator::add:
      return Value(a + b);
    case Operator::subtract:
      return Value(a - b);
    case Operator::multiply:
      return Value(a * b);
    case Operator::power:
      return whole_power(a, b);
    default:
      break;
  }
  if (b.is_zero()) {
    value_error(op == Operator::divide ? "division by zero" : "integer division or modulo by zero");
  }
  if (op == Operator::divide) return Value(a.to_double() / b.to_double());
  const Integer::Division division = Integer::divide(a, b);
  return Value(op == Operator::floor_divide ? division.quotient : division.remainder);
}

Value number_arithmetic(const Value& a, Operator op, const Value& b) {
  if (a.is(Type::real) || b.is(Type::real)) return real_arithmetic(a.number(), op, b.number());
  if (a.is(Type::integer) && b.is(Type::integer)) {
    std::int64_t result = 0;
    if (op == Operator::add && !__builtin_add_overflow(a.integer(), b.integer(), &result)) {
      return Value(result);
    }
    if (op == Operator::subtract && !__builtin_sub_overflow(a.integer(), b.integer(), &result)) {
      return Value(result);
    }
    if (op == Operator::multiply && !__builtin_mul_overflow(a.integer(), b.integer(), &result)) {
      return Value(result);
    }
  }
  return whole_arithmetic(a.whole(), op, b.whole());
}

}  // namespace

Value arithmetic(Heap& heap, const Value& a, Operator op, const Value& b) {
  if (a.is_number() && b.is_number()) return number_arithmetic(a, op, b);
  if (op == Operator::add && a.is_text() && b.is_text()) return join_texts(heap, a, b);
  if (op == Operator::add && a.is_list() && b.is_list() && a.list()->kind == b.list()->kind &&
      can_repeat(a)) {
    return join_lists(heap, a, b);
  }
  if (op == Operator::multiply && can_repeat(a) && b.is_whole()) return repeat(heap, a, b.whole());
  if (op == Operator::multiply && a.is_whole() && can_repeat(b)) return repeat(heap, b, a.whole());
  if (op == Operator::modulo && a.is_text()) return heap.text(percent_format(heap, a.text(), b));
  unsupported(a, op, b);
}

Value negate(const Value& value, bool minus) {
  if (value.is_undefined()) missing_fault(value);
  if (!value.is_number()) {
    type_error(
        fmt::format("bad operand type for unary {}: '{}'", minus ? '-' : '+', type_name(value)));
  }
  if (value.is(Type::real)) return Value(minus ? -value.real() : value.real());
  return Value(minus ? value.whole().negated() : value.whole());
}

}  // namespace linnet::jinja
