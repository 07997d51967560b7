// The messages of a chat: a system text and turns in order. Pure data, no model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "text/python_calls.h"

namespace linnet {

struct Turn {
  std::string role;  // "user", "assistant" or "tool"
  std::string content;
  std::string reasoning;  // of an assistant; shown and saved, not given to the model again
  std::vector<ToolCall> tool_calls = {};  // of an assistant
  bool operator==(const Turn&) const = default;
};

class Conversation {
 public:
  const std::string& system() const { return system_; }
  void set_system(std::string text) { system_ = std::move(text); }
  const std::vector<Turn>& turns() const { return turns_; }

  void add_user(std::string content);
  // A call whose arguments no template can take (nested too deep, a key twice) becomes text.
  void add_assistant(std::string content, std::string reasoning,
                     const std::vector<ToolCall>& tool_calls = {});
  // Takes away the last user turn and all that follows it. False when there is none.
  bool undo();
  // Takes away what follows the last user turn, so that it can be answered again.
  bool drop_answer();
  // Takes away the first user turn and what follows it, up to the next one. False when it is the
  // last.
  bool drop_oldest();
  void clear() { turns_.clear(); }

  // {"messages": [{"role", "content", "reasoning_content", "tool_calls"}]} in OpenAI's shape; the
  // system text comes first.
  Json to_json() const;
  // Such an object, or the array alone. Error{invalid_argument} naming the message and the field.
  static Conversation from_json(const Json& json);

 private:
  std::size_t last_user() const;  // turns_.size() when there is none

  std::string system_;
  std::vector<Turn> turns_;
};

}  // namespace linnet
