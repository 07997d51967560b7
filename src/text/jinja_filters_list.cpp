// Filters over sequences as a whole.
#include <fmt/core.h>

#include <algorithm>

#include "text/jinja_filters.h"
#include "text/jinja_text_parts.h"
#include "text/jinja_unicode.h"

namespace linnet::jinja {
namespace {

Value length_filter(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("length", args, {});
  if (input.is_text()) runtime.heap.work(input.text().size());
  if (const auto count = length(input)) return Value(*count);
  type_error(fmt::format("object of type '{}' has no len()", type_name(input)));
}

Value first(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("first", args, {});
  if (input.is_text() && !input.text().empty()) {
    return runtime.heap.text(input.text().slice(0, character_size(input.bytes(), 0)));
  }
  const std::vector<Value> items = iterate(runtime.heap, input);
  return items.empty() ? Value::undefined("No first item, sequence was empty.") : items.front();
}

Value last(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("last", args, {});
  if (input.is_list() && input.list()->kind == ListKind::generator) {
    type_error("'generator' object is not reversible");
  }
  const std::vector<Value> items = iterate(runtime.heap, input);
  return items.empty() ? Value::undefined("No last item, sequence was empty.") : items.back();
}

Value list_filter(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("list", args, {});
  return runtime.heap.list(iterate(runtime.heap, input));
}

Value join_filter(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("join", args, {"d", "attribute"});
  std::vector<Value> items = iterate(runtime.heap, input);
  if (bound.given(1) && !bound[1]->is_none()) {
    const AttributePath path(*bound[1]);
    for (Value& item : items) item = path.of(runtime, item);
  }
  return runtime.heap.text(join(runtime.heap, bound.text(runtime, 0, ""), items));
}

Value reverse(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("reverse", args, {});
  if (input.is_text()) return slice(runtime.heap, input, {{}, {}, -1});
  std::vector<Value> items = iterate(runtime.heap, input);
  std::reverse(items.begin(), items.end());
  return runtime.heap.list(std::move(items), ListKind::generator);
}

Value lowered(Runtime& runtime, const Value& value) {
  if (!value.is_text()) return value;
  return runtime.heap.text(Text::mapped(value.text(), lower(value.bytes())));
}

// Stable, by keys; comparing is work too.
std::vector<Value> sorted(Runtime& runtime, const std::vector<Value>& items,
                          const std::vector<Value>& keys, bool reversed) {
  std::vector<std::size_t> order(items.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    runtime.heap.step();
    return reversed ? less(keys[b], keys[a]) : less(keys[a], keys[b]);
  });
  std::vector<Value> out;
  for (const std::size_t i : order) out.push_back(items[i]);
  return out;
}

// The keys that an attribute argument ("a,b.c") means; a list of them where there are several.
std::vector<Value> sort_keys(Runtime& runtime, const std::vector<Value>& items,
                             const Value* attribute, bool case_sensitive) {
  std::vector<AttributePath> paths;
  if (attribute != nullptr && attribute->is_text()) {
    const Text comma(",");
    for (const Text& part : split(runtime.heap, attribute->text(), &comma, -1, false)) {
      paths.emplace_back(Value::constant_text(part.bytes()));
    }
  } else if (attribute != nullptr && !attribute->is_none()) {
    paths.emplace_back(*attribute);
  }
  std::vector<Value> keys;
  for (const Value& item : items) {
    if (paths.empty()) {
      keys.push_back(case_sensitive ? item : lowered(runtime, item));
      continue;
    }
    std::vector<Value> parts;
    for (const AttributePath& path : paths) {
      const Value part = path.of(runtime, item);
      parts.push_back(case_sensitive ? part : lowered(runtime, part));
    }
    keys.push_back(runtime.heap.list(std::move(parts)));
  }
  return keys;
}

Value sort(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("sort", args, {"reverse", "case_sensitive", "attribute"});
  const std::vector<Value> items = iterate(runtime.heap, input);
  const std::vector<Value> keys = sort_keys(runtime, items, bound[2], bound.flag(1, false));
  return runtime.heap.list(sorted(runtime, items, keys, bound.flag(0, false)));
}

Value unique(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("unique", args, {"case_sensitive", "attribute"});
  const AttributePath path(bound.value(1));
  std::vector<Value> kept;
  std::vector<DictData::Member> seen;
  for (const Value& item : iterate(runtime.heap, input)) {
    Value key = path.of(runtime, item);
    if (!bound.flag(0, false)) key = lowered(runtime, key);
    check_hashable(key);
    runtime.heap.work(seen.size() * sizeof(Value));
    const bool met = std::any_of(seen.begin(), seen.end(), [&](const DictData::Member& member) {
      return equal(member.first, key);
    });
    if (met) continue;
    seen.emplace_back(key, Value());
    kept.push_back(item);
  }
  return runtime.heap.list(std::move(kept), ListKind::generator);
}

Value sum(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("sum", args, {"attribute", "start"});
  const AttributePath path(bound.value(0));
  Value total = bound.value(1, Value(std::int64_t{0}));
  if (total.is_text()) type_error("sum() can't sum strings [use ''.join(seq) instead]");
  for (const Value& item : iterate(runtime.heap, input)) {
    total = arithmetic(runtime.heap, total, Operator::add, path.of(runtime, item));
  }
  return total;
}

template <bool kLargest>
Value extreme(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound(kLargest ? "max" : "min", args, {"case_sensitive", "attribute"});
  const AttributePath path(bound.value(1));
  const std::vector<Value> items = iterate(runtime.heap, input);
  if (items.empty()) return Value::undefined("No aggregated item, sequence was empty.");
  const auto key_of = [&](const Value& item) {
    const Value key = path.of(runtime, item);
    return bound.flag(0, false) ? key : lowered(runtime, key);
  };
  const Value* best = &items[0];
  Value best_key = key_of(items[0]);
  for (std::size_t i = 1; i < items.size(); ++i) {
    Value key = key_of(items[i]);
    if (!(kLargest ? less(best_key, key) : less(key, best_key))) continue;
    best = &items[i];
    best_key = std::move(key);
  }
  return *best;
}

Value batch(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("batch", args, {"linecount", "fill_with"}, 1);
  const std::int64_t size = bound.integer(0, 1);
  if (size < 1) value_error("batch: expected a size above 0");
  Heap& heap = runtime.heap;
  std::vector<Value> rows;
  std::vector<Value> row;
  const auto finish = [&] { rows.push_back(heap.list(std::exchange(row, {}))); };
  for (Value& item : iterate(heap, input)) {
    if (static_cast<std::int64_t>(row.size()) == size) finish();
    row.push_back(std::move(item));
  }
  if (!row.empty()) {
    if (bound.given(1) && !bound[1]->is_none()) {
      heap.reserve(static_cast<std::size_t>(std::min<std::int64_t>(size, 1 << 30)) * sizeof(Value));
      row.resize(static_cast<std::size_t>(size), *bound[1]);
    }
    finish();
  }
  return heap.list(std::move(rows), ListKind::generator);
}

Value slice_filter(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("slice", args, {"slices", "fill_with"}, 1);
  const std::int64_t count = bound.integer(0, 1);
  if (count == 0) value_error("integer division or modulo by zero");
  if (count < 0) return runtime.heap.list({}, ListKind::generator);
  Heap& heap = runtime.heap;
  heap.reserve(static_cast<std::size_t>(std::min<std::int64_t>(count, 1 << 30)) * 64);
  const std::vector<Value> items = iterate(heap, input);
  const auto size = static_cast<std::int64_t>(items.size());
  const std::int64_t each = size / count;
  const std::int64_t longer = size % count;
  std::vector<Value> columns;
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t end = at + each + (i < longer ? 1 : 0);
    std::vector<Value> column(items.begin() + at, items.begin() + end);
    if (bound.given(1) && !bound[1]->is_none() && i >= longer) column.push_back(*bound[1]);
    columns.push_back(heap.list(std::move(column)));
    at = end;
  }
  return heap.list(std::move(columns), ListKind::generator);
}

Value items_filter(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("items", args, {});
  if (input.is_undefined()) return runtime.heap.list({}, ListKind::generator);
  if (!input.is_dict()) type_error("Can only get item pairs from a mapping.");
  std::vector<Value> pairs;
  for (const auto& [key, value] : input.dict()->members)
    pairs.push_back(runtime.heap.tuple({key, value}));
  return runtime.heap.list(std::move(pairs), ListKind::generator);
}

Value dict_sort(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("dictsort", args, {"case_sensitive", "by", "reverse"});
  if (input.is_undefined()) missing_fault(input);
  if (!input.is_dict())
    type_error(fmt::format("'{}' object has no attribute 'items'", type_name(input)));
  const std::string by = bound.text(runtime, 1, "key").bytes();
  if (by != "key" && by != "value") value_error("You can only sort by either \"key\" or \"value\"");
  std::vector<Value> pairs;
  std::vector<Value> keys;
  for (const auto& [key, value] : input.dict()->members) {
    pairs.push_back(runtime.heap.tuple({key, value}));
    const Value& chosen = by == "key" ? key : value;
    keys.push_back(bound.flag(0, false) ? chosen : lowered(runtime, chosen));
  }
  return runtime.heap.list(sorted(runtime, pairs, keys, bound.flag(2, false)));
}

Value group_by(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("groupby", args, {"attribute", "default", "case_sensitive"}, 1);
  const AttributePath path(*bound[0]);
  const bool case_sensitive = bound.flag(2, false);
  const std::vector<Value> items = iterate(runtime.heap, input);
  std::vector<Value> keys;
  std::vector<Value> indices;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Value key = path.of(runtime, items[i], bound[1]);
    keys.push_back(case_sensitive ? key : lowered(runtime, key));
    indices.push_back(Value(static_cast<std::int64_t>(i)));
  }
  std::vector<Value> groups;
  const std::vector<Value> order = sorted(runtime, indices, keys, false);
  for (std::size_t begin = 0; begin < order.size();) {
    const auto at = [&](std::size_t i) { return static_cast<std::size_t>(order[i].integer()); };
    std::vector<Value> members;
    std::size_t end = begin;
    for (; end < order.size() && equal(keys[at(end)], keys[at(begin)]); ++end)
      members.push_back(items[at(end)]);
    if (end == begin) ++end;  // a key that does not equal itself (nan) stands alone
    const Value list = runtime.heap.list(std::move(members));
    groups.push_back(runtime.heap.group(path.of(runtime, items[at(begin)], bound[1]), list));
    begin = end;
  }
  return runtime.heap.list(std::move(groups));
}

Value default_filter(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("default", args, {"default_value", "boolean"});
  const bool replaced = input.is_undefined() || (bound.flag(1, false) && !truth(input));
  return replaced ? bound.value(0, runtime.heap.text("")) : input;
}

Value attr(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("attr", args, {"name"}, 1);
  const std::string name = bound.text(runtime, 0, "").bytes();
  // Only a real attribute counts, never a dict's key.
  if (input.is_dict()) return get_attribute(runtime, runtime.heap.dict({}), name);
  return get_attribute(runtime, input, name);
}

constexpr Filter kFilters[] = {
    {"length", length_filter}, {"count", length_filter},
    {"first", first},          {"last", last},
    {"list", list_filter},     {"join", join_filter},
    {"reverse", reverse},      {"sort", sort},
    {"unique", unique},        {"sum", sum},
    {"max", extreme<true>},    {"min", extreme<false>},
    {"batch", batch},          {"slice", slice_filter},
    {"items", items_filter},   {"dictsort", dict_sort},
    {"groupby", group_by},     {"default", default_filter},
    {"d", default_filter},     {"attr", attr},
};

}  // namespace

std::span<const Filter> list_filters() { return kFilters; }

}  // namespace linnet::jinja
