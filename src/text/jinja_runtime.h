// What filters, tests, methods and functions get from the render that calls them, and how they
// read their arguments.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja_heap.h"
#include "text/jinja_operators.h"
#include "text/jinja_repr.h"

namespace linnet::jinja {

class Runtime {
 public:
  Runtime(Heap& heap_in, const CivilTime& now_in) : heap(heap_in), now(now_in) {}
  Heap& heap;
  const CivilTime now;
  bool autoescape = false;  // what {% autoescape %} says where we are
};

Value call_value(Runtime& runtime, const Value& callee, const Args& args);
// value.name and value[key], with the sandbox's rules: what changes a value, and what begins with
// two underscores, is there but must not be touched.
Value get_attribute(Runtime& runtime, const Value& value, std::string_view name);
Value get_item(Runtime& runtime, const Value& value, const Value& key);

// Arguments by place or by name, as Python binds them to parameters.
class Bound {
 public:
  // Fault{runtime} for too many, unknown or doubled arguments, or when fewer than `required` came.
  Bound(std::string_view function, const Args& args, std::initializer_list<std::string_view> names,
        std::size_t required = 0);
  // nullptr when it was not given.
  const Value* operator[](std::size_t i) const { return values_[i]; }
  bool given(std::size_t i) const { return values_[i] != nullptr; }
  Value value(std::size_t i, Value otherwise = Value()) const;
  bool flag(std::size_t i, bool otherwise) const;
  std::int64_t integer(std::size_t i, std::int64_t otherwise) const;
  // str() of the argument.
  Text text(Runtime& runtime, std::size_t i, std::string_view otherwise) const;
  // An argument that must be a str.
  const Text* exact_text(std::size_t i) const;

 private:
  std::string_view function_;
  std::vector<const Value*> values_;
};

// A whole number that fits; what Python calls an index.
std::int64_t to_index(const Value& value);

}  // namespace linnet::jinja
