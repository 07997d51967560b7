// The methods of Python's str, list, tuple, dict, int and float that do not change their object.
#pragma once

#include <span>
#include <string_view>

#include "text/jinja_runtime.h"

namespace linnet::jinja {

struct Method {
  std::string_view name;
  Value (*call)(Runtime& runtime, const Value& self, const Args& args);
};

// nullptr when the type has no such method.
const Method* find_method(const Value& self, std::string_view name);
// Methods that would change a list or dict: the sandbox refuses them.
bool changes_value(const Value& self, std::string_view name);
Value bind_method(Runtime& runtime, const Value& self, const Method& method);

std::span<const Method> text_methods();
std::span<const Method> text_search_methods();
std::span<const Method> text_class_methods();

}  // namespace linnet::jinja
