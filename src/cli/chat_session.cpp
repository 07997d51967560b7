#include "cli/chat_session.h"

#include "cli/progress_bar.h"

namespace linnet {

ChatSession::ChatSession(CommandContext& context, OpenedAssistant opened)
    : context_(context),
      opened_(std::move(opened)),
      generator_(opened_.assistant.model, opened_.assistant.tokenizer) {}

void ChatSession::answer() {
  AnswerPrinter printer(context_.out, style);
  ProgressBar bar("Reading the prompt", context_.terminal());
  Answer made;
  try {
    const ChatPrompt prompt = make_chat_prompt(opened_.assistant, conversation_,
                                               {think, context_.globals.trust_user_tokens});
    AnswerRequest request;
    request.prompt = prompt.ids;
    request.in_reasoning = prompt.in_reasoning;
    request.config = sampling.applied_to(opened_.assistant.defaults);
    request.on_prefill = [&](double done) { done < 1 ? bar.update(done) : bar.erase(); };
    request.sink = [&](AnswerPart part, std::string_view text) { printer.print(part, text); };
    made = generate_answer(generator_, request);
  } catch (...) {
    bar.erase();
    conversation_.undo();
    throw;
  }
  bar.erase();
  printer.finish();
  last_result_ = made.result;
  conversation_.add_assistant(std::move(made.text), std::move(made.reasoning));
}

}  // namespace linnet
