#include "cli/chat_prompt.h"

#include "text/chat_encode.h"

namespace linnet {

PromptSettings PromptSettings::of(const AnswerOptions& options, const GlobalOptions& globals) {
  PromptSettings settings;
  settings.think = options.think;
  settings.tools = read_tools(options.tools);
  settings.tool_tags = tool_tags_of(options.tool_tags).value();
  settings.close_system_turn = options.close_system_turn;
  settings.trust_user_tokens = globals.trust_user_tokens;
  return settings;
}

ChatPrompt make_chat_prompt(const Assistant& assistant, const Json& messages,
                            const PromptSettings& settings) {
  ChatOptions chat;
  chat.enable_thinking = settings.think;
  chat.close_system_turn = settings.close_system_turn;
  // They fill the context, and in the no-think mode the template would put a second, empty block
  // before them.
  chat.drop_thoughts = true;
  const Prompt prompt = assistant.chat_template.render(messages, settings.tools, chat);
  return {encode_prompt(*assistant.tokenizer, prompt, settings.trust_user_tokens),
          {prompt.thinking == ThinkingState::open, settings.tool_tags}};
}

ChatPrompt make_chat_prompt(const Assistant& assistant, const Conversation& conversation,
                            const PromptSettings& settings) {
  return make_chat_prompt(assistant, conversation.to_json().at("messages"), settings);
}

}  // namespace linnet
