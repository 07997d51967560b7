#include "text/jinja_runtime.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "text/jinja_methods.h"

namespace linnet::jinja {

Value call_value(Runtime& runtime, const Value& callee, const Args& args) {
  if (callee.is_undefined()) missing_fault(callee);
  if (!callee.is(Type::object)) {
    type_error(fmt::format("'{}' object is not callable", type_name(callee)));
  }
  runtime.heap.step();
  return callee.object()->call(runtime, args);
}

namespace {

// Names that every Python object, or some of those met here, has: the sandbox hides them.
bool is_hidden(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      "__add__",        "__base__",         "__bases__",   "__builtins__",
      "__call__",       "__class__",        "__code__",    "__contains__",
      "__defaults__",   "__delattr__",      "__dict__",    "__dir__",
      "__doc__",        "__eq__",           "__format__",  "__func__",
      "__ge__",         "__getattribute__", "__getitem__", "__globals__",
      "__gt__",         "__hash__",         "__init__",    "__init_subclass__",
      "__iter__",       "__le__",           "__len__",     "__lt__",
      "__mod__",        "__module__",       "__mro__",     "__mul__",
      "__name__",       "__ne__",           "__new__",     "__qualname__",
      "__reduce__",     "__reduce_ex__",    "__repr__",    "__rmul__",
      "__self__",       "__setattr__",      "__sizeof__",  "__str__",
      "__subclasses__", "__subclasshook__"};
  return name.starts_with("__") &&
         std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

Value unsafe(const Value& value, std::string_view name) {
  return Value::undefined(
      fmt::format("access to attribute '{}' of '{}' object is unsafe.", name, type_name(value)),
      JinjaErrorKind::security);
}

Value no_attribute(const Value& value, std::string_view name) {
  if (value.is_none()) return Value::undefined(fmt::format("None has no attribute '{}'", name));
  return Value::undefined(fmt::format("'{} object' has no attribute '{}'", type_name(value), name));
}

// An attribute in Python's sense, without a look at a dict's keys; nullopt when there is none.
std::optional<Value> real_attribute(Runtime& runtime, const Value& value, std::string_view name) {
  if (is_hidden(name) || changes_value(value, name)) return unsafe(value, name);
  if (value.is(Type::object)) {
    Value found = value.object()->attribute(runtime, name);
    if (found.is_undefined() && found.missing().kind == JinjaErrorKind::undefined)
      return std::nullopt;
    return found;
  }
  if (value.is_list() && value.list()->is_group) {
    if (name == "grouper") return value.list()->items[0];
    if (name == "list") return value.list()->items[1];
  }
  if (const Method* method = find_method(value, name)) return bind_method(runtime, value, *method);
  return std::nullopt;
}

}  // namespace

Value get_attribute(Runtime& runtime, const Value& value, std::string_view name) {
  if (value.is_undefined()) missing_fault(value);
  if (const auto found = real_attribute(runtime, value, name)) return *found;
  if (value.is_dict()) {
    if (const Value* member = value.dict()->find(name)) return *member;
  }
  return no_attribute(value, name);
}

Value get_item(Runtime& runtime, const Value& value, const Value& key) {
  if (value.is_undefined()) missing_fault(value);
  if (auto found = item(runtime.heap, value, key)) return std::move(*found);
  if (key.is_text()) {
    if (const auto found = real_attribute(runtime, value, key.bytes())) return *found;
    return no_attribute(value, key.bytes());
  }
  const std::string shown =
      key.is_whole() ? to_text(runtime.heap, key).bytes() : std::string(type_name(key));
  const std::string owner = value.is_none() ? "None" : fmt::format("{} object", type_name(value));
  return Value::undefined(fmt::format("{} has no element {}", owner, shown));
}

Bound::Bound(std::string_view function, const Args& args,
             std::initializer_list<std::string_view> names, std::size_t required)
    : function_(function), values_(names.size(), nullptr) {
  if (args.positional.size() > names.size()) {
    type_error(fmt::format("{}() takes at most {} arguments ({} given)", function, names.size(),
                           args.positional.size()));
  }
  for (std::size_t i = 0; i < args.positional.size(); ++i) values_[i] = &args.positional[i];
  for (const auto& [key, value] : args.named) {
    const auto place = std::find(names.begin(), names.end(), key);
    if (place == names.end() || key.empty()) {
      type_error(fmt::format("{}() got an unexpected keyword argument '{}'", function, key));
    }
    const Value*& slot = values_[static_cast<std::size_t>(place - names.begin())];
    if (slot != nullptr) {
      type_error(fmt::format("{}() got multiple values for argument '{}'", function, key));
    }
    slot = &value;
  }
  for (std::size_t i = 0; i < required; ++i) {
    if (values_[i] == nullptr) {
      type_error(
          fmt::format("{}() missing required argument: '{}'", function, *(names.begin() + i)));
    }
  }
}

Value Bound::value(std::size_t i, Value otherwise) const {
  return given(i) ? *values_[i] : std::move(otherwise);
}

bool Bound::flag(std::size_t i, bool otherwise) const {
  return given(i) ? truth(*values_[i]) : otherwise;
}

std::int64_t Bound::integer(std::size_t i, std::int64_t otherwise) const {
  return given(i) ? to_index(*values_[i]) : otherwise;
}

Text Bound::text(Runtime& runtime, std::size_t i, std::string_view otherwise) const {
  return given(i) ? to_text(runtime.heap, *values_[i]) : Text(std::string(otherwise));
}

const Text* Bound::exact_text(std::size_t i) const {
  if (!given(i)) return nullptr;
  if (!values_[i]->is_text()) {
    type_error(fmt::format("{}() argument {} must be str, not {}", function_, i + 1,
                           type_name(*values_[i])));
  }
  return &values_[i]->text();
}

std::int64_t to_index(const Value& value) {
  if (value.is(Type::integer)) return value.integer();
  if (value.is(Type::boolean)) return value.boolean() ? 1 : 0;
  if (value.is(Type::big_integer)) value_error("Python int too large to convert to C ssize_t");
  type_error(fmt::format("'{}' object cannot be interpreted as an integer", type_name(value)));
}

}  // namespace linnet::jinja
