// Filters that apply another filter, or a test, to each item.
#include <fmt/core.h>

#include <algorithm>

#include "text/jinja_filters.h"
#include "text/jinja_tests.h"

namespace linnet::jinja {
namespace {

// The arguments behind the first `count` ones, for the filter or test that they name.
Args rest_of(const Args& args, std::size_t count) {
  Args rest = args;
  rest.positional.erase(rest.positional.begin(),
                        rest.positional.begin() +
                            static_cast<std::ptrdiff_t>(std::min(count, rest.positional.size())));
  return rest;
}

// These filters take anything that is false for an empty list.
std::vector<Value> items_of(Runtime& runtime, const Value& input) {
  return truth(input) ? iterate(runtime.heap, input) : std::vector<Value>();
}

const Value* named(const Args& args, std::string_view name) {
  for (const auto& [key, value] : args.named) {
    if (key == name) return &value;
  }
  return nullptr;
}

Value map_attribute(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("map", args, {"attribute", "default"}, 1);
  const AttributePath path(*bound[0]);
  std::vector<Value> out;
  for (const Value& item : items_of(runtime, input))
    out.push_back(path.of(runtime, item, bound[1]));
  return runtime.heap.list(std::move(out), ListKind::generator);
}

Value map(Runtime& runtime, const Value& input, const Args& args) {
  if (args.positional.empty() && named(args, "attribute") != nullptr) {
    return map_attribute(runtime, input, args);
  }
  if (args.positional.empty()) type_error("map requires a filter argument");
  const std::string name = to_text(runtime.heap, args.positional[0]).bytes();
  const Filter* filter = find_filter(name);
  if (filter == nullptr) fault(JinjaErrorKind::runtime, fmt::format("No filter named '{}'.", name));
  const Args rest = rest_of(args, 1);
  std::vector<Value> out;
  for (const Value& item : items_of(runtime, input)) {
    const Heap::Level level(runtime.heap);  // map can name map
    runtime.heap.step();
    out.push_back(filter->call(runtime, item, rest));
  }
  return runtime.heap.list(std::move(out), ListKind::generator);
}

// With `kAttribute` the first argument names what of each item is looked at.
template <bool kAttribute, bool kKeep>
Value select(Runtime& runtime, const Value& input, const Args& args) {
  constexpr std::size_t kTestAt = kAttribute ? 1 : 0;
  if (kAttribute && args.positional.empty()) type_error("Missing parameter for attribute name");
  const AttributePath path(kAttribute ? args.positional[0] : Value());
  const Test* test = nullptr;
  if (args.positional.size() > kTestAt) {
    const std::string name = to_text(runtime.heap, args.positional[kTestAt]).bytes();
    test = find_test(name);
    if (test == nullptr) fault(JinjaErrorKind::runtime, fmt::format("No test named '{}'.", name));
  }
  const Args rest = rest_of(args, kTestAt + 1);
  std::vector<Value> out;
  for (const Value& item : items_of(runtime, input)) {
    runtime.heap.step();
    const Value looked_at = path.of(runtime, item);
    const bool holds = test == nullptr ? truth(looked_at) : test->call(runtime, looked_at, rest);
    if (holds == kKeep) out.push_back(item);
  }
  return runtime.heap.list(std::move(out), ListKind::generator);
}

constexpr Filter kFilters[] = {
    {"map", map},
    {"select", select<false, true>},
    {"reject", select<false, false>},
    {"selectattr", select<true, true>},
    {"rejectattr", select<true, false>},
};

}  // namespace

std::span<const Filter> select_filters() { return kFilters; }

}  // namespace linnet::jinja
