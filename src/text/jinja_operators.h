// Python's operators on values: equality, order, arithmetic, membership, items and slices.
// Wrong types are Fault{runtime} with Python's message; what is missing is Fault{undefined}.
#pragma once

#include <optional>

#include "text/jinja_heap.h"
#include "text/jinja_value.h"

namespace linnet::jinja {

bool equal(const Value& a, const Value& b);
enum class Order { less, less_equal, greater, greater_equal };
bool ordered(const Value& a, Order order, const Value& b);
bool less(const Value& a, const Value& b);
// `needle in haystack`
bool contains(Heap& heap, const Value& haystack, const Value& needle);

enum class Operator { add, subtract, multiply, divide, floor_divide, modulo, power };
Value arithmetic(Heap& heap, const Value& a, Operator op, const Value& b);
Value negate(const Value& value, bool minus);

// The members of anything iterable, in order (a dict's keys, a text's characters).
std::vector<Value> iterate(Heap& heap, const Value& value);
bool is_iterable(const Value& value);
// len(value); nullopt for what has none.
std::optional<std::int64_t> length(const Value& value);

struct SliceBounds {
  std::optional<std::int64_t> start;
  std::optional<std::int64_t> stop;
  std::optional<std::int64_t> step;
};
Value slice(Heap& heap, const Value& value, const SliceBounds& bounds);
// value[key] of a list, text or dict; nullopt where Python raises a TypeError or LookupError.
std::optional<Value> item(Heap& heap, const Value& value, const Value& key);

}  // namespace linnet::jinja
