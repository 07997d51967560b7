// From messages to the ids of a prompt. What users wrote is text: control tokens in it count only
// when they are trusted (--trust-user-tokens).
#pragma once

#include <string>
#include <vector>

#include "cli/answer_options.h"
#include "cli/conversation.h"
#include "engine/assistant.h"

namespace linnet {

struct PromptSettings {
  std::optional<bool> think;  // none: as the template decides
  Json tools;                 // an array, or null
  ToolTags tool_tags = ToolTags::xml;
  bool close_system_turn = false;
  bool trust_user_tokens = false;

  // Reads the file of the tools.
  static PromptSettings of(const AnswerOptions& options, const GlobalOptions& globals);
};

struct ChatPrompt {
  std::vector<TokenId> ids;
  OutputParserOptions parser;  // for the answer; the end of the prompt tells where it starts
};

// `messages` as in message_list.h.
ChatPrompt make_chat_prompt(const Assistant& assistant, const Json& messages,
                            const PromptSettings& settings);
ChatPrompt make_chat_prompt(const Assistant& assistant, const Conversation& conversation,
                            const PromptSettings& settings);

}  // namespace linnet
