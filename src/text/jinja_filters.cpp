#include "text/jinja_filters.h"

#include <unordered_map>

#include "text/jinja_unicode.h"

namespace linnet::jinja {

const Filter* find_filter(std::string_view name) {
  static const auto table = [] {
    std::unordered_map<std::string_view, const Filter*> all;
    for (const auto filters :
         {text_filters(), layout_filters(), number_filters(), list_filters(), select_filters()}) {
      for (const Filter& filter : filters) all.emplace(filter.name, &filter);
    }
    return all;
  }();
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

AttributePath::AttributePath(const Value& path) {
  if (!path.is_text()) {
    if (!path.is_none()) steps_.push_back(path);
    return;
  }
  std::string_view rest = path.bytes();
  while (true) {
    const std::size_t dot = rest.find('.');
    const std::string_view step = rest.substr(0, dot);
    const auto index = Integer::parse(step, 10);
    steps_.push_back(index ? Value(*index) : Value::constant_text(std::string(step)));
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
}

Value AttributePath::of(Runtime& runtime, const Value& value, const Value* otherwise) const {
  Value at = value;
  for (const Value& step : steps_) {
    runtime.heap.step();
    at = get_item(runtime, at, step);
    if (otherwise != nullptr && at.is_undefined()) at = *otherwise;
  }
  return at;
}

}  // namespace linnet::jinja
