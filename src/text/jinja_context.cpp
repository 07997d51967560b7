#include "text/jinja_context.h"

namespace linnet::jinja {

Value value_of(Heap& heap, const Json& json) {
  if (json.is_null()) return Value();
  if (json.is_bool()) return Value(json.as_bool());
  if (json.is_int()) return Value(json.as_int());
  if (json.is_double()) return Value(json.as_double());
  if (json.is_string()) return heap.text(Text::from_input(json.as_string()));
  const Heap::Level level(heap);
  if (json.is_array()) {
    std::vector<Value> items;
    items.reserve(json.size());
    for (const Json& item : json.as_array()) items.push_back(value_of(heap, item));
    return heap.list(std::move(items));
  }
  std::vector<DictData::Member> members;
  members.reserve(json.size());
  for (const auto& [key, value] : json.as_object()) {
    Value name = heap.text(Text::from_input(key));
    members.emplace_back(std::move(name), value_of(heap, value));
  }
  return heap.dict(std::move(members));
}

}  // namespace linnet::jinja
