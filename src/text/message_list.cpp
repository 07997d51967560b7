#include "text/message_list.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"

namespace linnet {
namespace {

constexpr std::size_t kMaxMessages = 16384;
constexpr std::size_t kMaxTools = 1024;
constexpr std::size_t kMaxToolCalls = 1024;
constexpr std::size_t kMaxContentBytes = 32u << 20;

[[noreturn]] void refuse(std::string_view name, std::string_view expected, const Json* found) {
  fail(ErrorCode::invalid_argument, fmt::format("{}: expected {}, found {}", name, expected,
                                                found == nullptr ? "nothing" : found->type_name()));
}

const std::string& text_at(const Json& object, std::string_view key, std::string_view name) {
  const Json* value = object.find(key);
  if (value == nullptr || !value->is_string()) refuse(name, "a string", value);
  return value->as_string();
}

std::string role_of(const Json& message, const std::string& name, bool developer_is_system) {
  static constexpr std::string_view kRoles[] = {"system", "developer", "user", "assistant", "tool"};
  const std::string& role = text_at(message, "role", name + ".role");
  if (std::find(std::begin(kRoles), std::end(kRoles), role) == std::end(kRoles)) {
    fail(ErrorCode::invalid_argument,
         fmt::format("{}.role: expected system, developer, user, assistant or tool, found {}", name,
                     json_quote(role.substr(0, 64))));
  }
  return developer_is_system && role == "developer" ? "system" : role;
}

std::string joined_parts(const Json::Array& parts, const std::string& name) {
  std::string joined;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string part_name = fmt::format("{}[{}]", name, i);
    if (parts[i].is_string()) {
      joined += parts[i].as_string();
      continue;
    }
    if (!parts[i].is_object()) refuse(part_name, "a text part", &parts[i]);
    const std::string& type = text_at(parts[i], "type", part_name + ".type");
    if (type != "text") {
      fail(ErrorCode::invalid_argument,
           fmt::format("{}.type: only text parts are understood, found {}", part_name,
                       json_quote(type.substr(0, 64))));
    }
    joined += text_at(parts[i], "text", part_name + ".text");
  }
  return joined;
}

std::string content_of(const Json& message, const std::string& name, bool may_be_empty) {
  const Json* content = message.find("content");
  if (content == nullptr || content->is_null()) {
    if (!may_be_empty) refuse(name + ".content", "a string or a list of text parts", content);
    return {};
  }
  if (content->is_string()) return content->as_string();
  if (content->is_array()) return joined_parts(content->as_array(), name + ".content");
  refuse(name + ".content", "a string or a list of text parts", content);
}

// Whole blocks only: one that does not end is text.
std::string without_thoughts(std::string content) {
  constexpr std::string_view kOpen = "<think>";
  constexpr std::string_view kClose = "</think>";
  constexpr const char* kSpace = " \t\r\n";
  std::size_t begin = 0;
  while (true) {
    const std::size_t open = std::min(content.find_first_not_of(kSpace, begin), content.size());
    if (content.compare(open, kOpen.size(), kOpen) != 0) break;
    const std::size_t close = content.find(kClose, open);
    if (close == std::string::npos) break;
    begin = close + kClose.size();
  }
  if (begin > 0) begin = std::min(content.find_first_not_of("\r\n", begin), content.size());
  return content.substr(begin);
}

struct ToolCall {
  std::string name;
  Json arguments;  // an object
};

Json arguments_of(const Json& function, const std::string& name) {
  const Json* given = function.find("arguments");
  if (given == nullptr || given->is_null()) return Json::object();
  if (given->is_object()) return *given;
  if (!given->is_string()) refuse(name, "a JSON object or its text", given);
  if (given->as_string().find_first_not_of(" \t\r\n") == std::string::npos) return Json::object();
  Json parsed = Json::parse(given->as_string(), name);
  if (!parsed.is_object()) refuse(name, "the text of a JSON object", &parsed);
  return parsed;
}

std::vector<ToolCall> tool_calls_of(const Json& message, const std::string& name) {
  const Json* given = message.find("tool_calls");
  std::vector<ToolCall> calls;
  if (given == nullptr || given->is_null()) return calls;
  if (!given->is_array()) refuse(name + ".tool_calls", "an array", given);
  if (given->size() > kMaxToolCalls) {
    fail(ErrorCode::invalid_argument,
         fmt::format("{}.tool_calls: at most {} calls are taken", name, kMaxToolCalls));
  }
  for (std::size_t i = 0; i < given->size(); ++i) {
    const std::string call_name = fmt::format("{}.tool_calls[{}]", name, i);
    const Json& call = given->as_array()[i];
    const Json* function = call.find("function");
    if (function == nullptr || !function->is_object()) {
      refuse(call_name + ".function", "an object", function);
    }
    const std::string& called = text_at(*function, "name", call_name + ".function.name");
    if (called.empty()) {
      fail(ErrorCode::invalid_argument, call_name + ".function.name: must not be empty");
    }
    calls.push_back({called, arguments_of(*function, call_name + ".function.arguments")});
  }
  return calls;
}

// Each call as the model itself writes one, behind the content.
std::string with_calls(std::string content, const std::vector<ToolCall>& calls,
                       std::vector<Span>& written) {
  const auto write = [&](std::string_view words) {
    written.push_back({content.size(), content.size() + words.size()});
    content += words;
  };
  for (const ToolCall& call : calls) {
    if (!content.empty()) content += "\n";
    write("<tool_call>\n");
    Json shown = Json::object();
    shown.set("name", call.name);
    shown.set("arguments", call.arguments);
    content += shown.dump({.spaced = true});
    write("\n</tool_call>");
  }
  return content;
}

// The client's calls with their arguments in the shape that the template wants.
Json restyled_calls(const Json& given, const std::vector<ToolCall>& calls, bool as_text) {
  Json out = given;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    Json* function = out.as_array()[i].find("function");
    function->set("arguments",
                  as_text ? Json(calls[i].arguments.dump({.spaced = true})) : calls[i].arguments);
  }
  return out;
}

struct Prepared {
  Json message;
  std::vector<Span> written;
  bool has_tool_calls = false;
};

Prepared prepare(const Json& message, const std::string& name, const MessageRules& rules) {
  if (!message.is_object()) refuse(name, "an object", &message);
  const std::string role = role_of(message, name, rules.developer_is_system);
  const std::vector<ToolCall> calls =
      role == "assistant" ? tool_calls_of(message, name) : std::vector<ToolCall>();
  Prepared out;
  out.has_tool_calls = !calls.empty();
  std::string content = content_of(message, name, role == "assistant");
  const bool drop_thoughts = rules.drop_thoughts && role == "assistant";
  if (drop_thoughts) content = without_thoughts(std::move(content));
  const bool rewritten = rules.style == ToolCallStyle::in_content && !calls.empty();
  if (rewritten) content = with_calls(std::move(content), calls, out.written);
  out.message = Json::object();
  // Appended, not set: a client may send very many members. Their order is the client's, which
  // templates show.
  Json::Object& members = out.message.as_object();
  bool has_content = false;
  for (const auto& [key, value] : message.as_object()) {
    if (value.is_null() || (drop_thoughts && key == "reasoning_content")) continue;
    if (key == "role") {
      members.emplace_back(key, role);
    } else if (key == "content") {
      members.emplace_back(key, content);
      has_content = true;
    } else if (key != "tool_calls" || role != "assistant") {
      members.emplace_back(key, value);
    } else if (!calls.empty() && !rewritten) {
      const bool as_text = rules.style == ToolCallStyle::argument_texts;
      members.emplace_back(key, restyled_calls(value, calls, as_text));
    }
  }
  // An assistant turn without content still has one: templates join it to other text.
  if (!has_content) members.emplace_back("content", std::move(content));
  return out;
}

}  // namespace

PreparedMessages prepare_messages(const Json& messages, const MessageRules& rules) {
  if (!messages.is_array()) refuse("messages", "an array", &messages);
  const Json::Array& given = messages.as_array();
  if (given.empty()) {
    fail(ErrorCode::invalid_argument, "messages: expected at least one message, found none");
  }
  if (given.size() > kMaxMessages) {
    fail(ErrorCode::invalid_argument,
         fmt::format("messages: at most {} are taken, found {}", kMaxMessages, given.size()));
  }
  PreparedMessages out;
  out.messages = Json::array();
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < given.size(); ++i) {
    Prepared one = prepare(given[i], fmt::format("messages[{}]", i), rules);
    bytes += one.message.at("content").as_string().size();
    if (bytes > kMaxContentBytes) {
      fail(ErrorCode::invalid_argument,
           fmt::format("messages[{}].content: all contents together are longer than {} bytes", i,
                       kMaxContentBytes));
    }
    out.has_tool_calls = out.has_tool_calls || one.has_tool_calls;
    out.messages.push_back(std::move(one.message));
    out.written.push_back(std::move(one.written));
  }
  return out;
}

void check_tools(const Json& tools, const std::string& name) {
  if (!tools.is_array()) refuse(name, "an array", &tools);
  if (tools.size() > kMaxTools) {
    fail(ErrorCode::invalid_argument,
         fmt::format("{}: at most {} tools are taken, found {}", name, kMaxTools, tools.size()));
  }
  for (std::size_t i = 0; i < tools.size(); ++i) {
    const Json& tool = tools.as_array()[i];
    if (!tool.is_object() && !tool.is_string()) {
      refuse(fmt::format("{}[{}]", name, i), "an object", &tool);
    }
  }
}

}  // namespace linnet
