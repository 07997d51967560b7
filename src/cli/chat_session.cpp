#include "cli/chat_session.h"

#include <utility>

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
    ChatPrompt made_prompt = make_chat_prompt(opened_.assistant, conversation_, prompt);
    AnswerRequest request;
    request.prompt = std::move(made_prompt.ids);
    request.parser = made_prompt.parser;
    request.config = sampling.applied_to(opened_.assistant.defaults);
    request.config.resolve_texts(*opened_.assistant.tokenizer);
    request.on_prefill = [&](double done) { done < 1 ? bar.update(done) : bar.erase(); };
    request.sink = [&](const OutputDelta& delta) { printer.print(delta); };
    made = generate_answer(generator_, request);
  } catch (...) {
    bar.erase();
    conversation_.undo();
    throw;
  }
  bar.erase();
  printer.finish();
  conversation_.add_assistant(made.output.content.value_or(""), made.output.reasoning.value_or(""),
                              made.output.tool_calls);
  last_answer_ = std::move(made);
}

}  // namespace linnet
