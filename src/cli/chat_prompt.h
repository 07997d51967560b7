// From messages to the ids of a prompt. What users wrote is text: control tokens in it count only
// when they are trusted (--trust-user-tokens).
#pragma once

#include <string>
#include <vector>

#include "cli/conversation.h"
#include "engine/assistant.h"

namespace linnet {

struct PromptOptions {
  std::optional<bool> think;  // none: as the template decides
  bool trust_user_tokens = false;
};

struct ChatPrompt {
  std::vector<TokenId> ids;
  bool in_reasoning = false;  // it ends inside of an open <think>
};

ChatPrompt make_chat_prompt(const Assistant& assistant, const Conversation& conversation,
                            const PromptOptions& options);

}  // namespace linnet
