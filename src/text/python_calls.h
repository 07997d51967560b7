// Reads a piece of Python that holds nothing but calls `name(key=literal, ...)`, as a model writes
// them between <code> and </code>. The text is read, never run. Anything that Python would refuse,
// or that is more than such calls, is nothing at all.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace linnet {

struct ToolCall {
  std::string name;
  std::string arguments;  // JSON text of an object
  bool operator==(const ToolCall&) const = default;
};

// At least one call. Arguments are written as {"a": 1, "b": "é"}: order kept, of a doubled key of a
// dict the last value. Brackets nest 200 deep at most, as in Python itself.
std::optional<std::vector<ToolCall>> read_python_calls(std::string_view body);

}  // namespace linnet
