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

}  // namespace

void Conversation::add_user(std::string content) {
  turns_.push_back({"user", std::move(content), ""});
}

void Conversation::add_assistant(std::string content, std::string reasoning) {
  turns_.push_back({"assistant", std::move(content), std::move(reasoning)});
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

Json Conversation::to_json() const {
  Json messages = Json::array();
  if (!system_.empty()) messages.push_back(message_json("system", system_));
  for (const Turn& turn : turns_) {
    Json message = message_json(turn.role, turn.content);
    if (!turn.reasoning.empty()) message.set("reasoning_content", turn.reasoning);
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
              text_field(message, "reasoning_content", name)};
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
