// A model's output, taken apart, as JSON.
#pragma once

#include "base/json.h"
#include "text/output_parser.h"

namespace linnet {

// [{"name", "arguments"}], the arguments as JSON text.
Json tool_calls_json(const std::vector<ToolCall>& calls);
// {"reasoning", "content", "tool_calls", "parse_error", "finish"}; null for a text that is not
// there.
Json output_json(const ParsedOutput& output);

}  // namespace linnet
