// Messages as an API takes them (OpenAI's shape), brought to the shape that chat templates expect.
// Whatever is wrong is Error{invalid_argument} that names the field: "messages[2].content: ...".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/jinja.h"

namespace linnet {

// How a template wants the calls of earlier assistant turns.
enum class ToolCallStyle {
  in_content,        // it knows no tool_calls: they are written into the content
  argument_objects,  // tool_calls with `arguments` as an object
  argument_texts,    // tool_calls with `arguments` as JSON text
};

struct PreparedMessages {
  Json messages;
  // What this function wrote into each message's content (tags of tool calls): not the client's.
  std::vector<std::vector<Span>> written;
  bool has_tool_calls = false;
};

// - `messages` is an array of objects with a known role (system, developer, user, assistant, tool);
// - members that are null are dropped; lists of text parts are joined with nothing between;
// - with `developer_is_system`, the role developer becomes system;
// - with `drop_thoughts`, blocks of <think> at the head of an assistant's content are cut off, and
//   its member reasoning_content is dropped;
// - tool calls: see above. Their arguments are a JSON object, as such or as text.
struct MessageRules {
  ToolCallStyle style = ToolCallStyle::in_content;
  bool developer_is_system = false;
  bool drop_thoughts = false;
};
PreparedMessages prepare_messages(const Json& messages, const MessageRules& rules);

// An array of objects (or of texts, for templates that show them as they are).
void check_tools(const Json& tools, const std::string& name);

}  // namespace linnet
