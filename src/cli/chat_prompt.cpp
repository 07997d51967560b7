#include "cli/chat_prompt.h"

#include "text/chat_encode.h"

namespace linnet {

namespace {

Json message_list(const Conversation& conversation) {
  Json messages = Json::array();
  const auto add = [&](const std::string& role, const std::string& content) {
    Json message = Json::object();
    message.set("role", role);
    message.set("content", content);
    messages.push_back(std::move(message));
  };
  if (!conversation.system().empty()) add("system", conversation.system());
  // Earlier thoughts are left out: they fill the context, and in the no-think mode the template
  // would put a second, empty block before them.
  for (const Turn& turn : conversation.turns()) add(turn.role, turn.content);
  return messages;
}

}  // namespace

ChatPrompt make_chat_prompt(const Assistant& assistant, const Conversation& conversation,
                            const PromptOptions& options) {
  ChatOptions chat;
  chat.enable_thinking = options.think;
  const Prompt prompt = assistant.chat_template.render(message_list(conversation), Json(), chat);
  return {encode_prompt(*assistant.tokenizer, prompt, options.trust_user_tokens),
          prompt.thinking == ThinkingState::open};
}

}  // namespace linnet
