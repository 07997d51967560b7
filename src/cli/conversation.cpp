#include "cli/conversation.h"

#include <fmt/core.h>

#include "base/error.h"

namespace linnet {
namespace {

Json message_json(const std::string& role, const std::string& content) {
  Json message = Json::object();
  message.set("role", role);
  message.set("content", content);
  return message;
}

std::string text_field(const Json& message, const char* field, const std::string& name) {
  const Json* value = message.find(field);
  if (value == nullptr || value->is_null()) return "";
  return value->as_string(fmt::format("{}.{}", name, field));
}

Json calls_json(const std::vector<ToolCall>& calls) {
  Json list = Json::array();
  for (const ToolCall& call : calls) {
    Json function = Json::object();
    function.set("name", call.name);
    function.set("arguments", call.arguments);
    Json entry = Json::object();
    entry.set("type", "function");
    entry.set("function", std::move(function));
    list.push_back(std::move(entry));
  }
  return list;
}

std::vector<ToolCall> calls_field(const Json& message, const std::string& name) {
  const Json* list = message.find("tool_calls");
  std::vector<ToolCall> calls;
  if (list == nullptr || list->is_null()) return calls;
  for (const Json& entry : list->as_array(name + ".tool_calls")) {
    const std::string field = fmt::format("{}.tool_calls[{}].function", name, calls.size());
    const Json* function = entry.find("function");
    if (function == nullptr) fail(ErrorCode::invalid_argument, field + ": missing");
    const Json* arguments = function->find("arguments");
    const bool is_object = arguments != nullptr && arguments->is_object();
    calls.push_back({text_field(*function, "name", field),
                     is_object ? arguments->dump() : text_field(*function, "arguments", field)});
  }
  return calls;
}

bool template_can_take(const ToolCall& call) {
  try {
    Json::parse(call.arguments, "arguments");
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

void Conversation::add_user(std::string content) {
  turns_.push_back({"user", std::move(content), "", {}});
}

void Conversation::add_assistant(std::string content, std::string reasoning,
                                 const std::vector<ToolCall>& tool_calls) {
  Turn turn{"assistant", std::move(content), std::move(reasoning), {}};
  for (const ToolCall& call : tool_calls) {
    if (template_can_take(call)) {
      turn.tool_calls.push_back(call);
    } else {
      turn.content +=
          fmt::format("{}{}({})", turn.content.empty() ? "" : "\n", call.name, call.arguments);
    }
  }
  turns_.push_back(std::move(turn));
}

std::size_t Conversation::last_user() const {
  for (std::size_t i = turns_.size(); i > 0; --i) {
    if (turns_[i - 1].role == "user") return i - 1;
  }
  return turns_.size();
}

bool Conversation::undo() {
  const std::size_t last = last_user();
  if (last == turns_.size()) return false;
  turns_.resize(last);
  return true;
}

bool Conversation::drop_answer() {
  const std::size_t last = last_user();
  if (last == turns_.size()) return false;
  turns_.resize(last + 1);
  return true;
}

bool Conversation::drop_oldest() {
  std::size_t next = 1;
  while (next < turns_.size() && turns_[next].role != "user") ++next;
  if (next >= turns_.size()) return false;
  turns_.erase(turns_.begin(), turns_.begin() + static_cast<std::ptrdiff_t>(next));
  return true;
}

Json Conversation::to_json() const {
  Json messages = Json::array();
  if (!system_.empty()) messages.push_back(message_json("system", system_));
  for (const Turn& turn : turns_) {
    Json message = message_json(turn.role, turn.content);
    if (!turn.reasoning.empty()) message.set("reasoning_content", turn.reasoning);
    if (!turn.tool_calls.empty()) message.set("tool_calls", calls_json(turn.tool_calls));
    messages.push_back(std::move(message));
  }
  Json json = Json::object();
  json.set("messages", std::move(messages));
  return json;
}

Conversation Conversation::from_json(const Json& json) {
  const Json* messages = json.is_object() ? json.find("messages") : &json;
  if (messages == nullptr) fail(ErrorCode::invalid_argument, "the field \"messages\" is missing");
  Conversation conversation;
  std::size_t index = 0;
  for (const Json& message : messages->as_array("messages")) {
    const std::string name = fmt::format("messages[{}]", index);
    if (!message.is_object()) {
      fail(ErrorCode::invalid_argument,
           fmt::format("{}: expected an object, found {}", name, message.type_name()));
    }
    const std::string role = text_field(message, "role", name);
    Turn turn{role, text_field(message, "content", name),
              text_field(message, "reasoning_content", name), calls_field(message, name)};
    if (role == "system" && index == 0) {
      conversation.system_ = turn.content;
    } else if (role == "user" || role == "assistant" || role == "tool") {
      conversation.turns_.push_back(std::move(turn));
    } else {
      fail(
          ErrorCode::invalid_argument,
          fmt::format("{}.role: expected user, assistant or tool (or system in the first message), "
                      "found {}",
                      name, json_quote(role)));
    }
    ++index;
  }
  return conversation;
}

}  // namespace linnet
