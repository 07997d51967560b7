#include "text/jinja_tests.h"

#include <fmt/core.h>

#include <algorithm>

#include "text/jinja_filters.h"
#include "text/jinja_unicode.h"

namespace linnet::jinja {
namespace {

using Predicate = bool (*)(const Value&);

template <Predicate kIs>
bool plain(Runtime&, const Value& value, const Args& args) {
  const Bound bound("test", args, {});
  return kIs(value);
}

bool is_defined(const Value& value) { return !value.is_undefined(); }
bool is_undefined(const Value& value) { return value.is_undefined(); }
bool is_none(const Value& value) { return value.is_none(); }
bool is_string(const Value& value) { return value.is_text(); }
bool is_mapping(const Value& value) { return value.is_dict(); }
bool is_number(const Value& value) { return value.is_number(); }
bool is_boolean(const Value& value) { return value.is(Type::boolean); }
bool is_real(const Value& value) { return value.is(Type::real); }
bool is_true(const Value& value) { return value.is(Type::boolean) && value.boolean(); }
bool is_false(const Value& value) { return value.is(Type::boolean) && !value.boolean(); }
bool is_integer(const Value& value) { return value.is_whole() && !value.is(Type::boolean); }
bool is_escaped(const Value& value) { return value.is_text() && value.text().markup(); }

bool is_sequence(const Value& value) {
  if (value.is_text() || value.is_dict() || value.is_undefined()) return true;
  if (!value.is_list()) return false;
  const ListKind kind = value.list()->kind;
  return kind == ListKind::list || kind == ListKind::tuple || kind == ListKind::range;
}

template <bool kUpper>
bool has_case(Runtime& runtime, const Value& value, const Args& args) {
  const Bound bound("test", args, {});
  return is_all_of_case(to_text(runtime.heap, value).bytes(), kUpper);
}

bool divisible_by(Runtime& runtime, const Value& value, const Args& args) {
  const Bound bound("divisibleby", args, {"num"}, 1);
  const Value rest = arithmetic(runtime.heap, value, Operator::modulo, *bound[0]);
  return equal(rest, Value(std::int64_t{0}));
}

template <std::int64_t kRest>
bool halves(Runtime& runtime, const Value& value, const Args& args) {
  const Bound bound("odd", args, {});
  const Value rest = arithmetic(runtime.heap, value, Operator::modulo, Value(std::int64_t{2}));
  return equal(rest, Value(kRest));
}

template <bool kEqual>
bool equals(Runtime&, const Value& value, const Args& args) {
  const Bound bound("eq", args, {"other"}, 1);
  return equal(value, *bound[0]) == kEqual;
}

template <Order kOrder>
bool compares(Runtime&, const Value& value, const Args& args) {
  const Bound bound("compare", args, {"other"}, 1);
  return ordered(value, kOrder, *bound[0]);
}

bool is_in(Runtime& runtime, const Value& value, const Args& args) {
  const Bound bound("in", args, {"seq"}, 1);
  return contains(runtime.heap, *bound[0], value);
}

bool same_as(Runtime&, const Value& value, const Args& args) {
  const Bound bound("sameas", args, {"other"}, 1);
  return value.same_as(*bound[0]);
}

bool is_filter(Runtime&, const Value& value, const Args& args) {
  const Bound bound("filter", args, {});
  check_hashable(value);
  return value.is_text() && find_filter(value.bytes()) != nullptr;
}

bool is_test(Runtime&, const Value& value, const Args& args) {
  const Bound bound("test", args, {});
  check_hashable(value);
  return value.is_text() && find_test(value.bytes()) != nullptr;
}

constexpr Test kTests[] = {
    {"defined", plain<is_defined>},
    {"undefined", plain<is_undefined>},
    {"none", plain<is_none>},
    {"string", plain<is_string>},
    {"mapping", plain<is_mapping>},
    {"sequence", plain<is_sequence>},
    {"iterable", plain<is_iterable>},
    {"number", plain<is_number>},
    {"integer", plain<is_integer>},
    {"float", plain<is_real>},
    {"boolean", plain<is_boolean>},
    {"true", plain<is_true>},
    {"false", plain<is_false>},
    {"callable", plain<is_callable>},
    {"escaped", plain<is_escaped>},
    {"lower", has_case<false>},
    {"upper", has_case<true>},
    {"odd", halves<1>},
    {"even", halves<0>},
    {"divisibleby", divisible_by},
    {"eq", equals<true>},
    {"==", equals<true>},
    {"equalto", equals<true>},
    {"ne", equals<false>},
    {"!=", equals<false>},
    {"lt", compares<Order::less>},
    {"<", compares<Order::less>},
    {"lessthan", compares<Order::less>},
    {"le", compares<Order::less_equal>},
    {"<=", compares<Order::less_equal>},
    {"gt", compares<Order::greater>},
    {">", compares<Order::greater>},
    {"greaterthan", compares<Order::greater>},
    {"ge", compares<Order::greater_equal>},
    {">=", compares<Order::greater_equal>},
    {"in", is_in},
    {"sameas", same_as},
    {"filter", is_filter},
    {"test", is_test},
};

}  // namespace

const Test* find_test(std::string_view name) {
  const auto* found = std::find_if(std::begin(kTests), std::end(kTests),
                                   [&](const Test& t) { return t.name == name; });
  return found == std::end(kTests) ? nullptr : found;
}

}  // namespace linnet::jinja
