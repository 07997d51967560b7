#include "text/chat.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "text/chat_system_turn.h"
#include "text/message_list.h"

namespace linnet {
namespace {

constexpr const char* kChatml =
    "{%- for message in messages -%}\n"
    "{%- if message.role == 'assistant' -%}\n"
    "{% generation %}{{ '<|im_start|>assistant\\n' + message.content + '<|im_end|>\\n' }}"
    "{% endgeneration %}\n"
    "{%- else -%}\n"
    "{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}\n"
    "{%- endif -%}\n"
    "{%- endfor -%}\n"
    "{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif -%}\n";

// Variables that a request sets in another way.
constexpr std::string_view kReserved[] = {"messages", "tools", "add_generation_prompt", "bos_token",
                                          "eos_token"};
constexpr std::string_view kLists[] = {"xml_tools", "python_tools", "documents"};

constexpr std::size_t kMaxExtra = 256;

bool is_one_of(std::string_view word, const auto& words) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

void add_extra(Json& variables, const Json& extra) {
  if (extra.is_null()) return;
  if (extra.as_object("chat_template_kwargs").size() > kMaxExtra) {
    fail(ErrorCode::invalid_argument,
         fmt::format("chat_template_kwargs: at most {} variables are taken", kMaxExtra));
  }
  for (const auto& [key, value] : extra.as_object()) {
    const std::string name = "chat_template_kwargs." + key;
    if (is_one_of(key, kReserved)) {
      fail(ErrorCode::invalid_argument, name + ": the request itself sets this variable");
    }
    if (is_one_of(key, kLists)) {
      if (!value.is_null()) check_tools(value, name);
    } else if (value.is_array() || value.is_object()) {
      fail(ErrorCode::invalid_argument,
           fmt::format("{}: expected a scalar, found {}", name, value.type_name()));
    }
    variables.set(key, value);
  }
}

// The last tag behind everything that the client wrote decides.
ThinkingState thinking_state(const JinjaOutput& output) {
  const std::size_t tail = output.input_spans.empty() ? 0 : output.input_spans.back().end;
  const std::string_view text = std::string_view(output.text).substr(tail);
  const std::size_t open = text.rfind("<think>");
  const std::size_t close = text.rfind("</think>");
  const std::size_t turn = text.rfind("<|im_end|>");
  const auto after_turn = [&](std::size_t at) {
    return at != std::string_view::npos && (turn == std::string_view::npos || at > turn);
  };
  if (after_turn(close) && (!after_turn(open) || close > open)) return ThinkingState::closed;
  return after_turn(open) ? ThinkingState::open : ThinkingState::none;
}

}  // namespace

ChatTemplate::ChatTemplate(std::string source, std::string name, Tokens tokens)
    : template_(JinjaTemplate::parse(std::move(source), std::move(name))),
      tokens_(std::move(tokens)) {}

ChatTemplate ChatTemplate::chatml() { return ChatTemplate(kChatml, "chatml"); }

bool ChatTemplate::mentions(std::string_view word) const {
  return source().find(word) != std::string::npos;
}

bool ChatTemplate::marks_generation() const { return mentions("endgeneration"); }

Json ChatTemplate::variables(const Json& tools, const ChatOptions& options) const {
  Json all = Json::object();
  add_extra(all, options.extra);
  const bool has_tools = !tools.is_null() && tools.size() > 0;
  if (!tools.is_null()) check_tools(tools, "tools");
  all.set("tools", has_tools ? tools : Json());
  if (has_tools && mentions("xml_tools") && all.find("xml_tools") == nullptr) {
    all.set("xml_tools", tools);
  }
  if (all.find("documents") == nullptr) all.set("documents", Json());
  all.set("add_generation_prompt", options.add_generation_prompt);
  if (options.enable_thinking) all.set("enable_thinking", *options.enable_thinking);
  all.set("bos_token", tokens_.bos);
  all.set("eos_token", tokens_.eos);
  return all;
}

Prompt ChatTemplate::render(const Json& messages, const Json& tools,
                            const ChatOptions& options) const {
  const Json all = variables(tools, options);
  const bool developer_is_system = !mentions("developer");
  const auto prepared = [&](ToolCallStyle style) {
    return prepare_messages(messages, {style, developer_is_system, options.drop_thoughts});
  };
  if (!mentions("tool_calls"))
    return render_with(prepared(ToolCallStyle::in_content), all, options);
  const PreparedMessages objects = prepared(ToolCallStyle::argument_objects);
  try {
    return render_with(objects, all, options);
  } catch (const JinjaError& error) {
    // Some templates join the arguments to other text: they want them as text.
    if (!objects.has_tool_calls || error.kind() != JinjaErrorKind::runtime) throw;
    return render_with(prepared(ToolCallStyle::argument_texts), all, options);
  }
}

Prompt ChatTemplate::render_with(const PreparedMessages& prepared, const Json& variables,
                                 const ChatOptions& options) const {
  Json context = variables;
  context.set("messages", prepared.messages);
  JinjaOptions jinja;
  jinja.now = options.now;
  jinja.limits = options.limits;
  const auto vouch = [&](const std::string& text, std::vector<Span> spans) {
    jinja.host_spans.emplace(&text, std::move(spans));
  };
  for (const char* token : {"bos_token", "eos_token"}) {
    const std::string& text = context.at(token).as_string();
    vouch(text, {{0, text.size()}});
  }
  const Json::Array& messages = context.at("messages").as_array();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (!prepared.written[i].empty()) {
      vouch(messages[i].at("content").as_string(), prepared.written[i]);
    }
  }
  JinjaOutput output = template_.render(context, jinja);
  Prompt prompt;
  prompt.thinking = options.add_generation_prompt ? thinking_state(output) : ThinkingState::none;
  prompt.text = std::move(output.text);
  prompt.input_spans = std::move(output.input_spans);
  prompt.generation_spans = std::move(output.generation_spans);
  if (options.close_system_turn) close_system_turn(prompt);
  return prompt;
}

}  // namespace linnet
