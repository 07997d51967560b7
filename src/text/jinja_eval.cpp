// The expressions of a template.
#include <fmt/core.h>

#include "text/jinja_filters.h"
#include "text/jinja_format.h"
#include "text/jinja_globals.h"
#include "text/jinja_interpreter.h"
#include "text/jinja_tests.h"

namespace linnet::jinja {

Value Interpreter::eval(const Expr& expr) {
  using Kind = Expr::Kind;
  const Heap::Level level(heap_);
  heap_.step();
  at_ = expr.at;
  switch (expr.kind) {
    case Kind::constant:
      return expr.constant;
    case Kind::name:
      return eval_name(expr);
    case Kind::list:
    case Kind::tuple:
      return eval_list(expr);
    case Kind::dict:
      return eval_dict(expr);
    case Kind::negate:
    case Kind::plus:
      return negate(eval(*expr.parts[0]), expr.kind == Kind::negate);
    case Kind::logical_not:
      return Value(!truth(eval(*expr.parts[0])));
    case Kind::binary:
      return eval_binary(expr);
    case Kind::concat:
      return eval_concat(expr);
    case Kind::compare:
      return eval_compare(expr);
    case Kind::logical_and:
    case Kind::logical_or: {
      Value left = eval(*expr.parts[0]);
      return truth(left) == (expr.kind == Kind::logical_or) ? left : eval(*expr.parts[1]);
    }
    case Kind::conditional:
      return eval_conditional(expr);
    case Kind::attribute: {
      const Value owner = eval(*expr.parts[0]);
      at_ = expr.at;
      return get_attribute(runtime_, owner, expr.name);
    }
    case Kind::item: {
      const Value owner = eval(*expr.parts[0]);
      const Value key = eval(*expr.parts[1]);
      at_ = expr.at;
      return get_item(runtime_, owner, key);
    }
    case Kind::slice:
      return eval_slice(expr);
    case Kind::call:
      return eval_call(expr, nullptr);
    case Kind::filter:
      return eval_filter(expr, nullptr);
    case Kind::test:
      return eval_test(expr);
    case Kind::namespace_item:
      break;
  }
  LINNET_CHECK(false, "a target is no value");
}

Value Interpreter::eval_name(const Expr& expr) {
  if (const Value* variable = scope_->find(expr.name)) return *variable;
  if (const Value* given = context_.dict()->find(std::string_view(expr.name))) return *given;
  const auto known = globals_.find(expr.name);
  if (known != globals_.end()) return known->second;
  if (const auto function = global_function(runtime_, expr.name)) {
    return globals_.emplace(expr.name, *function).first->second;
  }
  return Value::undefined(fmt::format("'{}' is undefined", expr.name));
}

Value Interpreter::eval_list(const Expr& expr) {
  std::vector<Value> items;
  for (const ExprPtr& part : expr.parts) items.push_back(eval(*part));
  return heap_.list(std::move(items),
                    expr.kind == Expr::Kind::list ? ListKind::list : ListKind::tuple);
}

Value Interpreter::eval_dict(const Expr& expr) {
  std::vector<DictData::Member> members;
  for (std::size_t i = 0; i + 1 < expr.parts.size(); i += 2) {
    Value key = eval(*expr.parts[i]);
    members.emplace_back(std::move(key), eval(*expr.parts[i + 1]));
  }
  return heap_.dict(std::move(members));
}

Value Interpreter::eval_binary(const Expr& expr) {
  const Value left = eval(*expr.parts[0]);
  const Value right = eval(*expr.parts[1]);
  at_ = expr.at;
  return arithmetic(heap_, left, expr.op, right);
}

Value Interpreter::eval_concat(const Expr& expr) {
  Text joined;
  for (const ExprPtr& part : expr.parts) {
    const Value value = to_text_value(heap_, eval(*part));
    const bool escape = runtime_.autoescape && !value.text().markup();
    joined.append(escape ? html_escape(value.text()) : value.text());
    heap_.reserve(joined.size());
  }
  joined.set_markup(runtime_.autoescape);
  return heap_.text(std::move(joined));
}

bool Interpreter::compare(const Value& a, Comparison comparison, const Value& b) {
  switch (comparison) {
    case Comparison::equal:
      return equal(a, b);
    case Comparison::not_equal:
      return !equal(a, b);
    case Comparison::less:
      return ordered(a, Order::less, b);
    case Comparison::less_equal:
      return ordered(a, Order::less_equal, b);
    case Comparison::greater:
      return ordered(a, Order::greater, b);
    case Comparison::greater_equal:
      return ordered(a, Order::greater_equal, b);
    case Comparison::in:
      return contains(heap_, b, a);
    case Comparison::not_in:
      return !contains(heap_, b, a);
  }
  return false;
}

// a < b < c: each part is evaluated once, and none behind the first comparison that fails.
Value Interpreter::eval_compare(const Expr& expr) {
  Value left = eval(*expr.parts[0]);
  for (std::size_t i = 0; i < expr.comparisons.size(); ++i) {
    Value right = eval(*expr.parts[i + 1]);
    at_ = expr.at;
    if (!compare(left, expr.comparisons[i], right)) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Value Interpreter::eval_conditional(const Expr& expr) {
  if (truth(eval(*expr.parts[1]))) return eval(*expr.parts[0]);
  if (expr.parts[2]) return eval(*expr.parts[2]);
  return Value::undefined(
      "the inline if-expression evaluated to false and no else section was defined.");
}

Value Interpreter::eval_slice(const Expr& expr) {
  const Value value = eval(*expr.parts[0]);
  if (value.is_undefined()) missing_fault(value);
  const auto bound = [&](std::size_t i) -> std::optional<std::int64_t> {
    if (!expr.parts[i]) return std::nullopt;
    const Value at = eval(*expr.parts[i]);
    if (at.is_none()) return std::nullopt;
    // A bound beyond 64 bits lies outside of everything.
    if (at.is(Type::big_integer)) return at.whole().is_negative() ? INT64_MIN : INT64_MAX;
    return to_index(at);
  };
  SliceBounds bounds;
  bounds.start = bound(1);
  bounds.stop = bound(2);
  bounds.step = bound(3);
  at_ = expr.at;
  return slice(heap_, value, bounds);
}

Args Interpreter::eval_args(const CallArgs& args) {
  Args out;
  for (const ExprPtr& part : args.positional) out.positional.push_back(eval(*part));
  for (const auto& [name, part] : args.named) out.named.emplace_back(name, eval(*part));
  if (args.star) {
    for (Value& value : iterate(heap_, eval(*args.star)))
      out.positional.push_back(std::move(value));
  }
  if (args.double_star) {
    const Value more = eval(*args.double_star);
    if (!more.is_dict()) type_error("argument after ** must be a mapping");
    for (const auto& [key, value] : more.dict()->members) {
      if (!key.is_text()) type_error("keywords must be strings");
      out.named.emplace_back(key.bytes(), value);
    }
  }
  return out;
}

Value Interpreter::eval_call(const Expr& expr, const Value* caller) {
  const Value callee = eval(*expr.parts[0]);
  Args args = eval_args(expr.args);
  if (caller != nullptr) args.named.emplace_back("caller", *caller);
  at_ = expr.at;
  return call_value(runtime_, callee, args);
}

Value Interpreter::eval_filter(const Expr& expr, const Value* input) {
  Value value;
  if (!expr.parts[0]) {
    value = *input;
  } else if (input != nullptr && expr.parts[0]->kind == Expr::Kind::filter) {
    value = eval_filter(*expr.parts[0], input);
  } else {
    value = eval(*expr.parts[0]);
  }
  const Filter* filter = find_filter(expr.name);
  at_ = expr.at;
  if (filter == nullptr) {
    fault(JinjaErrorKind::runtime, fmt::format("No filter named '{}' found.", expr.name));
  }
  const Args args = eval_args(expr.args);
  at_ = expr.at;
  return filter->call(runtime_, value, args);
}

Value Interpreter::eval_test(const Expr& expr) {
  const Value value = eval(*expr.parts[0]);
  const Test* test = find_test(expr.name);
  at_ = expr.at;
  if (test == nullptr) {
    fault(JinjaErrorKind::runtime, fmt::format("No test named '{}' found.", expr.name));
  }
  const Args args = eval_args(expr.args);
  at_ = expr.at;
  return Value(test->call(runtime_, value, args));
}

}  // namespace linnet::jinja
