// A chat in progress: the open model, the conversation and the settings. What a line of the user
// does is decided above (chat_command.cpp, slash_commands.cpp).
#pragma once

#include "cli/answer.h"
#include "cli/answer_printer.h"
#include "cli/chat_prompt.h"
#include "cli/method_options.h"
#include "cli/open_model.h"
#include "cli/sampling_options.h"

namespace linnet {

class ChatSession {
 public:
  ChatSession(CommandContext& context, OpenedAssistant opened);

  // Answers the last user turn and adds the answer to the conversation; a partial one after Ctrl-C
  // as well. When it fails, the conversation is as before the user's turn.
  void answer();

  Conversation& conversation() { return conversation_; }
  Output& out() { return context_.out; }
  const Assistant& assistant() const { return opened_.assistant; }
  const std::string& model_name() const { return opened_.name; }
  std::int64_t context_tokens() const { return generator_.context_tokens(); }
  const std::optional<Answer>& last_answer() const { return last_answer_; }
  void forget() { generator_.clear(); }

  SamplingOptions sampling;
  MethodOptions method;  // at_limit may also be "drop-oldest"
  PromptSettings prompt;
  AnswerPrinter::Style style;

 private:
  AnswerRequest make_request();
  // The conversation without the oldest turns, so that there is room for an answer.
  ChatPrompt fitting_prompt(const GenerationConfig& config);

  CommandContext& context_;
  OpenedAssistant opened_;
  Generator generator_;
  Conversation conversation_;
  std::size_t left_out_ = 0;  // turns, from the last prompt
  std::optional<Answer> last_answer_;
};

}  // namespace linnet
