#include "cli/chat_session.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "cli/progress_bar.h"

namespace linnet {

ChatSession::ChatSession(CommandContext& context, OpenedAssistant opened)
    : context_(context),
      opened_(std::move(opened)),
      generator_(opened_.assistant.model, opened_.assistant.tokenizer) {}

// Tokens that an answer without a limit should have room for.
constexpr std::int64_t kRoom = 512;

ChatPrompt ChatSession::fitting_prompt(const GenerationConfig& config) {
  ChatPrompt made = make_chat_prompt(opened_.assistant, conversation_, prompt);
  if (method.at_limit != "drop-oldest") return made;
  const std::int64_t context = opened_.assistant.model->context();
  const std::int64_t room = config.max_new_tokens >= 0 ? config.max_new_tokens
                                                       : std::min<std::int64_t>(kRoom, context / 4);
  Conversation rest = conversation_;
  while (static_cast<std::int64_t>(made.ids.size()) + room > context && rest.drop_oldest()) {
    made = make_chat_prompt(opened_.assistant, rest, prompt);
  }
  const std::size_t left_out = conversation_.turns().size() - rest.turns().size();
  if (left_out > 0 && left_out != left_out_) {
    write_error_line(context_.terminal(),
                     fmt::format("linnet: the context of {} tokens is full: the model no longer "
                                 "sees the oldest {} messages",
                                 context, left_out));
  }
  left_out_ = left_out;
  return made;
}

AnswerRequest ChatSession::make_request() {
  AnswerRequest request;
  request.request.config = sampling.applied_to(opened_.assistant.defaults);
  request.request.config.resolve_texts(*opened_.assistant.tokenizer);
  ChatPrompt made = fitting_prompt(request.request.config);
  request.request.prompt = std::move(made.ids);
  request.parser = made.parser;
  method.apply_to(request.request, *opened_.assistant.tokenizer, request.parser,
                  opened_.assistant.model->context());
  return request;
}

void ChatSession::answer() {
  AnswerPrinter printer(context_.out, style);
  ProgressBar bar("Reading the prompt", context_.terminal());
  Answer made;
  try {
    AnswerRequest request = make_request();
    request.on_prefill = [&](double done) { done < 1 ? bar.update(done) : bar.erase(); };
    request.sink = [&](const OutputDelta& delta) { printer.print(delta); };
    made = std::move(generate_answers(generator_, std::move(request)).front());
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
