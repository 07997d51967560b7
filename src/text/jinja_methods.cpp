#include "text/jinja_methods.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace linnet::jinja {
namespace {

class BoundMethod final : public Object {
 public:
  BoundMethod(Value self, const Method& method) : self_(std::move(self)), method_(method) {}
  std::string_view type_name() const override { return "builtin_function_or_method"; }
  std::string repr() const override {
    return fmt::format("<built-in method {} of {} object>", method_.name, jinja::type_name(self_));
  }
  bool callable() const override { return true; }
  Value call(Runtime& runtime, const Args& args) override {
    return method_.call(runtime, self_, args);
  }

 private:
  Value self_;
  const Method& method_;
};

Value list_index(Runtime& runtime, const Value& self, const Args& args) {
  const Bound bound("index", args, {"value", "start", "stop"}, 1);
  const auto& items = self.list()->items;
  runtime.heap.work(items.size() * sizeof(Value));
  const auto size = static_cast<std::int64_t>(items.size());
  const auto place = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
  };
  const std::int64_t stop = place(bound.integer(2, size));
  for (std::int64_t i = place(bound.integer(1, 0)); i < stop; ++i) {
    if (equal(items[static_cast<std::size_t>(i)], *bound[0])) return Value(i);
  }
  value_error(fmt::format("{} is not in list", repr(runtime.heap, *bound[0]).bytes()));
}

Value list_count(Runtime& runtime, const Value& self, const Args& args) {
  const Bound bound("count", args, {"value"}, 1);
  runtime.heap.work(self.list()->items.size() * sizeof(Value));
  std::int64_t count = 0;
  for (const Value& item : self.list()->items) count += equal(item, *bound[0]) ? 1 : 0;
  return Value(count);
}

Value copy(Runtime&, const Value& self, const Args& args) {
  const Bound bound("copy", args, {});
  return self;  // values never change, so the same one will do
}

Value dict_keys(Runtime& runtime, const Value& self, const Args& args) {
  const Bound bound("keys", args, {});
  std::vector<Value> keys;
  for (const auto& member : self.dict()->members) keys.push_back(member.first);
  return runtime.heap.list(std::move(keys), ListKind::keys);
}

Value dict_values(Runtime& runtime, const Value& self, const Args& args) {
  const Bound bound("values", args, {});
  std::vector<Value> values;
  for (const auto& member : self.dict()->members) values.push_back(member.second);
  return runtime.heap.list(std::move(values), ListKind::values);
}

Value dict_items(Runtime& runtime, const Value& self, const Args& args) {
  const Bound bound("items", args, {});
  std::vector<Value> pairs;
  for (const auto& member : self.dict()->members) {
    pairs.push_back(runtime.heap.tuple({member.first, member.second}));
  }
  return runtime.heap.list(std::move(pairs), ListKind::items);
}

Value dict_get(Runtime& runtime, const Value& self, const Args& args) {
  const Bound bound("get", args, {"key", "default"}, 1);
  if (bound[0]->is_dict() || (bound[0]->is_list() && bound[0]->list()->kind == ListKind::list)) {
    type_error(fmt::format("unhashable type: '{}'", type_name(*bound[0])));
  }
  return item(runtime.heap, self, *bound[0]).value_or(bound.value(1));
}

Value bit_length(Runtime&, const Value& self, const Args& args) {
  const Bound bound("bit_length", args, {});
  Integer rest = self.whole();
  if (rest.is_negative()) rest = rest.negated();
  std::int64_t bits = 0;
  for (const Integer two(2); !rest.is_zero(); ++bits) rest = Integer::divide(rest, two).quotient;
  return Value(bits);
}

Value is_integer(Runtime&, const Value& self, const Args& args) {
  const Bound bound("is_integer", args, {});
  return Value(std::isfinite(self.real()) && std::trunc(self.real()) == self.real());
}

constexpr Method kListMethods[] = {{"index", list_index}, {"count", list_count}, {"copy", copy}};
constexpr Method kDictMethods[] = {{"keys", dict_keys},
                                   {"values", dict_values},
                                   {"items", dict_items},
                                   {"get", dict_get},
                                   {"copy", copy}};
constexpr Method kIntegerMethods[] = {{"bit_length", bit_length}};
constexpr Method kRealMethods[] = {{"is_integer", is_integer}};

const Method* find_in(std::span<const Method> methods, std::string_view name) {
  const auto found =
      std::find_if(methods.begin(), methods.end(), [&](const Method& m) { return m.name == name; });
  return found == methods.end() ? nullptr : &*found;
}

}  // namespace

const Method* find_method(const Value& self, std::string_view name) {
  switch (self.type()) {
    case Type::text:
      for (const auto methods : {text_methods(), text_search_methods(), text_class_methods()}) {
        if (const Method* method = find_in(methods, name)) return method;
      }
      return nullptr;
    case Type::dict:
      return find_in(kDictMethods, name);
    case Type::integer:
    case Type::boolean:
    case Type::big_integer:
      return find_in(kIntegerMethods, name);
    case Type::real:
      return find_in(kRealMethods, name);
    case Type::list: {
      const ListKind kind = self.list()->kind;
      if (kind == ListKind::list) return find_in(kListMethods, name);
      const bool counted = kind == ListKind::tuple || kind == ListKind::range;
      return counted ? find_in(std::span(kListMethods).first(2), name) : nullptr;
    }
    default:
      return nullptr;
  }
}

bool changes_value(const Value& self, std::string_view name) {
  static constexpr std::string_view kOfDict[] = {"clear", "pop", "popitem", "setdefault", "update"};
  static constexpr std::string_view kOfList[] = {"append", "clear",  "extend",  "insert",
                                                 "pop",    "remove", "reverse", "sort"};
  const auto has = [&](const auto& names) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  if (self.is_dict()) return has(kOfDict);
  return self.is_list() && self.list()->kind == ListKind::list && has(kOfList);
}

Value bind_method(Runtime& runtime, const Value& self, const Method& method) {
  const int depth = self.depth() + 1;
  return Value(ObjectPtr(runtime.heap.object<BoundMethod>(depth, self, method)));
}

}  // namespace linnet::jinja
