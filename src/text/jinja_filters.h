// The filters: Jinja's own, with transformers' tojson.
#pragma once

#include <span>
#include <string_view>

#include "text/jinja_runtime.h"

namespace linnet::jinja {

struct Filter {
  std::string_view name;
  Value (*call)(Runtime& runtime, const Value& input, const Args& args);
};

const Filter* find_filter(std::string_view name);

std::span<const Filter> text_filters();
std::span<const Filter> layout_filters();
std::span<const Filter> number_filters();
std::span<const Filter> list_filters();
std::span<const Filter> select_filters();

// An attribute as filters name it: "a.b.0", or a number. `otherwise` stands in for what is missing.
class AttributePath {
 public:
  explicit AttributePath(const Value& path);
  Value of(Runtime& runtime, const Value& value, const Value* otherwise = nullptr) const;

 private:
  std::vector<Value> steps_;
};

}  // namespace linnet::jinja
