// One number or text laid out by a format specification, as printf and Python's format() do it.
#pragma once

#include <string>
#include <string_view>

#include "text/jinja_heap.h"
#include "text/jinja_value.h"

namespace linnet::jinja {

struct Layout {
  std::string fill = " ";
  char align = 0;  // < > ^ = or 0: left for texts, right for numbers
  char sign = '-';
  bool alternate = false;
  char grouping = 0;  // , or _
  std::int64_t width = 0;
  std::int64_t precision = -1;
  char type = 0;
};

// [[fill]align][sign][#][0][width][grouping][.precision][type]
Layout parse_layout(std::string_view spec);
// `value` is a number.
Text layout_number(Heap& heap, const Value& value, const Layout& layout);
// Cut to the precision, filled to the width. A layout for numbers is Fault{runtime}.
Text layout_text(Heap& heap, const Text& text, const Layout& layout);

}  // namespace linnet::jinja
