// Python's str() and repr() of values.
#pragma once

#include <string>

#include "text/jinja_heap.h"
#include "text/jinja_value.h"

namespace linnet::jinja {

// str(value), what {{ value }} prints: a text as it is, what is missing as nothing.
Text to_text(Heap& heap, const Value& value);
// to_text as a value; a text is not copied.
Value to_text_value(Heap& heap, const Value& value);
// repr(value). All of it counts as input when any text inside does.
Text repr(Heap& heap, const Value& value);
// A number as Python prints it: 1.0, 1e+16, 1e-05, inf.
std::string real_repr(double value);
// With the quotes that Python chooses, and its escapes.
std::string quoted(std::string_view text);

}  // namespace linnet::jinja
