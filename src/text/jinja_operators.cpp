#include "text/jinja_operators.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "text/jinja_repr.h"
#include "text/jinja_unicode.h"

namespace linnet::jinja {
namespace {

bool equal_numbers(const Value& a, const Value& b) {
  if (a.is(Type::integer) && b.is(Type::integer)) return a.integer() == b.integer();
  if (a.is(Type::real) && b.is(Type::real)) return a.real() == b.real();
  if (!a.is(Type::real) && !b.is(Type::real)) return a.whole() == b.whole();
  // Exact, where a conversion to floating point would round.
  const double real = a.is(Type::real) ? a.real() : b.real();
  const Value& whole = a.is(Type::real) ? b : a;
  if (!std::isfinite(real) || std::trunc(real) != real) return false;
  return whole.number() == real && whole.whole() == Integer::from_double(real);
}

bool equal_lists(const ListData& a, const ListData& b) {
  if (a.kind != b.kind || a.items.size() != b.items.size()) return false;
  if (a.kind == ListKind::generator) return &a == &b;
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    if (!equal(a.items[i], b.items[i])) return false;
  }
  return true;
}

bool equal_dicts(const DictData& a, const DictData& b) {
  if (a.members.size() != b.members.size()) return false;
  for (const auto& [key, value] : a.members) {
    const Value* other = b.find(key);
    if (other == nullptr || !equal(value, *other)) return false;
  }
  return true;
}

std::string_view symbol(Order order) {
  static constexpr std::string_view kSymbols[] = {"<", "<=", ">", ">="};
  return kSymbols[static_cast<int>(order)];
}

template <typename T>
bool compare(const T& a, Order order, const T& b) {
  switch (order) {
    case Order::less:
      return a < b;
    case Order::less_equal:
      return a <= b;
    case Order::greater:
      return a > b;
    case Order::greater_equal:
      return a >= b;
  }
  return false;
}

bool is_sequence(const Value& value) {
  return value.is_list() &&
         (value.list()->kind == ListKind::list || value.list()->kind == ListKind::tuple);
}

bool ordered_lists(const ListData& a, Order order, const ListData& b) {
  const std::size_t common = std::min(a.items.size(), b.items.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (!equal(a.items[i], b.items[i])) return ordered(a.items[i], order, b.items[i]);
  }
  return compare(a.items.size(), order, b.items.size());
}

bool contains_text(Heap& heap, const Value& haystack, const Value& needle) {
  if (!needle.is_text()) {
    type_error(
        fmt::format("'in <string>' requires string as left operand, not {}", type_name(needle)));
  }
  heap.work(haystack.text().size());
  return haystack.bytes().find(needle.bytes()) != std::string::npos;
}

}  // namespace

bool equal(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return equal_numbers(a, b);
  if (a.type() != b.type()) return false;
  a.look();
  switch (a.type()) {
    case Type::text:
      return a.bytes() == b.bytes();
    case Type::list:
      return a.list() == b.list() || equal_lists(*a.list(), *b.list());
    case Type::dict:
      return a.dict() == b.dict() || equal_dicts(*a.dict(), *b.dict());
    case Type::object:
      return a.object() == b.object();
    default:
      return true;  // None, and all that is missing
  }
}

bool ordered(const Value& a, Order order, const Value& b) {
  if (a.is(Type::integer) && b.is(Type::integer)) return compare(a.integer(), order, b.integer());
  if (a.is_number() && b.is_number()) {
    if (a.is(Type::real) || b.is(Type::real)) return compare(a.number(), order, b.number());
    return compare(a.whole(), order, b.whole());
  }
  a.look();
  if (a.is_text() && b.is_text()) return compare(a.bytes(), order, b.bytes());
  if (is_sequence(a) && is_sequence(b) && a.list()->kind == b.list()->kind) {
    return ordered_lists(*a.list(), order, *b.list());
  }
  if (a.is_undefined()) missing_fault(a);
  if (b.is_undefined()) missing_fault(b);
  type_error(fmt::format("'{}' not supported between instances of '{}' and '{}'", symbol(order),
                         type_name(a), type_name(b)));
}

bool less(const Value& a, const Value& b) { return ordered(a, Order::less, b); }

bool contains(Heap& heap, const Value& haystack, const Value& needle) {
  if (haystack.is_text()) return contains_text(heap, haystack, needle);
  if (haystack.is_dict()) {
    check_hashable(needle);
    heap.work(haystack.dict()->members.size() * sizeof(Value));
    return haystack.dict()->find(needle) != nullptr;
  }
  if (haystack.is_list()) {
    heap.work(haystack.list()->items.size() * sizeof(Value));
    for (const Value& item : haystack.list()->items) {
      if (equal(item, needle)) return true;
    }
    return false;
  }
  if (haystack.is_undefined() && haystack.missing().kind == JinjaErrorKind::undefined) return false;
  if (haystack.is_undefined()) missing_fault(haystack);
  type_error(fmt::format("argument of type '{}' is not iterable", type_name(haystack)));
}

bool is_iterable(const Value& value) {
  return value.is_text() || value.is_list() || value.is_dict() || value.is_undefined();
}

std::vector<Value> iterate(Heap& heap, const Value& value) {
  if (value.is_list()) {
    heap.work(value.list()->items.size() * sizeof(Value));
    return value.list()->items;
  }
  std::vector<Value> items;
  if (value.is_dict()) {
    heap.work(value.dict()->members.size() * sizeof(Value));
    for (const auto& member : value.dict()->members) items.push_back(member.first);
    return items;
  }
  if (value.is_text()) {
    const Text& text = value.text();
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = at + character_size(text.bytes(), at);
      items.push_back(heap.text(text.slice(at, end)));
      at = end;
    }
    return items;
  }
  if (value.is_undefined()) return items;
  type_error(fmt::format("'{}' object is not iterable", type_name(value)));
}

std::optional<std::int64_t> length(const Value& value) {
  if (value.is_text()) return static_cast<std::int64_t>(character_count(value.bytes()));
  if (value.is_dict()) return static_cast<std::int64_t>(value.dict()->members.size());
  if (value.is_undefined()) return 0;
  if (!value.is_list() || value.list()->kind == ListKind::generator) return std::nullopt;
  return static_cast<std::int64_t>(value.list()->items.size());
}

namespace {

struct Range {
  std::int64_t start;
  std::int64_t stop;
  std::int64_t step;
};

// Python's rules for leaving bounds out, counting from the end, and cutting what lies outside.
Range resolve(const SliceBounds& bounds, std::int64_t size) {
  const std::int64_t step = bounds.step.value_or(1);
  if (step == 0) value_error("slice step cannot be zero");
  const std::int64_t low = step > 0 ? 0 : -1;
  const std::int64_t high = step > 0 ? size : size - 1;
  const auto place = [&](const std::optional<std::int64_t>& bound, std::int64_t otherwise) {
    if (!bound) return otherwise;
    std::int64_t at = *bound;
    if (at < 0) at = at < -size ? low : at + size;
    return std::clamp(at, low, high);
  };
  return {place(bounds.start, step > 0 ? low : high), place(bounds.stop, step > 0 ? high : low),
          step};
}

template <typename Take>
void for_each_index(const Range& range, const Take& take) {
  std::int64_t at = range.start;
  while (range.step > 0 ? at < range.stop : at > range.stop) {
    take(static_cast<std::size_t>(at));
    if (__builtin_add_overflow(at, range.step, &at)) break;
  }
}

Value slice_text(Heap& heap, const Text& text, const SliceBounds& bounds) {
  heap.work(text.size());
  const std::string& bytes = text.bytes();
  const Range range = resolve(bounds, static_cast<std::int64_t>(character_count(bytes)));
  if (range.step == 1) {
    std::size_t begin = 0;
    std::int64_t at = 0;
    for (; at < range.start; ++at) begin += character_size(bytes, begin);
    std::size_t end = begin;
    for (; at < range.stop; ++at) end += character_size(bytes, end);
    return heap.text(text.slice(begin, end));
  }
  heap.reserve((bytes.size() + 1) * sizeof(std::size_t));
  heap.work(bytes.size() * 8);
  const std::vector<std::size_t> offsets = character_offsets(bytes);
  Text part;
  for_each_index(range, [&](std::size_t i) { part.append(text, offsets[i], offsets[i + 1]); });
  return heap.text(std::move(part));
}

}  // namespace

Value slice(Heap& heap, const Value& value, const SliceBounds& bounds) {
  if (value.is_text()) return slice_text(heap, value.text(), bounds);
  if (value.is_undefined()) missing_fault(value);
  if (value.is_dict()) type_error("unhashable type: 'slice'");
  const bool sliceable =
      value.is_list() && (is_sequence(value) || value.list()->kind == ListKind::range);
  if (!sliceable) type_error(fmt::format("'{}' object is not subscriptable", type_name(value)));
  const std::vector<Value>& items = value.list()->items;
  std::vector<Value> part;
  for_each_index(resolve(bounds, static_cast<std::int64_t>(items.size())),
                 [&](std::size_t i) { part.push_back(items[i]); });
  const ListKind kind = value.list()->kind == ListKind::tuple ? ListKind::tuple : ListKind::list;
  return heap.list(std::move(part), kind);
}

namespace {

// The place that an index means, or nullopt when it is no whole number or outside.
std::optional<std::size_t> place(const Value& key, std::size_t size) {
  if (!key.is(Type::integer) && !key.is(Type::boolean)) return std::nullopt;
  std::int64_t at = key.is(Type::integer) ? key.integer() : (key.boolean() ? 1 : 0);
  const auto count = static_cast<std::int64_t>(size);
  if (at < 0) at += at < -count ? 0 : count;
  if (at < 0 || at >= count) return std::nullopt;
  return static_cast<std::size_t>(at);
}

}  // namespace

std::optional<Value> item(Heap& heap, const Value& value, const Value& key) {
  if (value.is_dict()) {
    if (!key.is_text()) heap.work(value.dict()->members.size() * sizeof(Value));
    const Value* found = value.dict()->find(key);
    return found == nullptr ? std::nullopt : std::optional<Value>(*found);
  }
  if (value.is_text()) {
    heap.work(value.text().size());
    const Text& text = value.text();
    const auto at = place(key, character_count(text.bytes()));
    if (!at) return std::nullopt;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < *at; ++i) begin += character_size(text.bytes(), begin);
    return heap.text(text.slice(begin, begin + character_size(text.bytes(), begin)));
  }
  if (!value.is_list()) return std::nullopt;
  if (!is_sequence(value) && value.list()->kind != ListKind::range) return std::nullopt;
  const auto at = place(key, value.list()->items.size());
  return at ? std::optional<Value>(value.list()->items[*at]) : std::nullopt;
}

}  // namespace linnet::jinja
