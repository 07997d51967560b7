// The tojson filter as transformers has it: json.dumps without HTML escapes, non-ASCII kept.
#pragma once

#include <optional>
#include <string>

#include "text/jinja_heap.h"
#include "text/jinja_value.h"

namespace linnet::jinja {

struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  std::optional<std::string> indent;  // the text of one level; absent: all on one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};

// All of it counts as input when any text inside does. What JSON cannot hold is a fault.
Text to_json(Heap& heap, const Value& value, const JsonStyle& style);

}  // namespace linnet::jinja
