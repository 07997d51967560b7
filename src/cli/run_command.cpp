#include <fmt/core.h>
#include <unistd.h>

#include <memory>

#include "base/log.h"
#include "cli/answer.h"
#include "cli/answer_printer.h"
#include "cli/chat_prompt.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/line_editor.h"
#include "cli/open_model.h"
#include "cli/output_record.h"
#include "cli/progress_bar.h"
#include "cli/sampling_options.h"
#include "cli/text_input.h"

namespace linnet {
namespace {

struct RunFlags {
  std::optional<std::string> prompt;
  AnswerOptions answer;
  bool raw = false;
  bool json = false;
  SamplingOptions sampling;
};

// The argument, then what is piped in, an empty line between. Raw input is not touched.
std::string whole_prompt(const RunFlags& options, const Terminal& terminal) {
  std::string prompt = options.prompt.value_or("");
  require_utf8(prompt, "PROMPT");
  if (!terminal.in) {
    std::string input = read_all(STDIN_FILENO, "standard input");
    if (!options.raw && input.ends_with('\n')) input.pop_back();
    require_utf8(input, "standard input");
    if (!prompt.empty() && !input.empty()) prompt += "\n\n";
    prompt += input;
  }
  if (prompt.find_first_not_of(" \t\r\n") == std::string::npos) {
    throw UsageError("the prompt is empty: give it as an argument or on standard input");
  }
  return prompt;
}

AnswerRequest make_request(const Assistant& assistant, const std::string& prompt,
                           const RunFlags& options, const PromptSettings& settings) {
  AnswerRequest request;
  request.config = options.sampling.applied_to(assistant.defaults);
  request.config.resolve_texts(*assistant.tokenizer);
  if (options.raw) {
    EncodeOptions encode;
    encode.add_special_tokens = true;
    request.prompt = assistant.tokenizer->encode(prompt, encode);
    return request;
  }
  Conversation conversation;
  conversation.set_system(options.answer.system);
  conversation.add_user(prompt);
  ChatPrompt made = make_chat_prompt(assistant, conversation, settings);
  request.prompt = std::move(made.ids);
  request.parser = made.parser;
  return request;
}

Json record(const OpenedAssistant& opened, const Answer& answer) {
  Json json = Json::object();
  json.set("model", opened.name);
  const Json numbers = result_json(answer.result);
  for (const auto& [key, value] : numbers.as_object()) json.set(key, value);
  json.set("finish", answer.output.finish);
  json.set("text", answer.output.content.value_or(""));
  json.set("reasoning", answer.output.reasoning.value_or(""));
  json.set("tool_calls", tool_calls_json(answer.output.tool_calls));
  json.set("parse_error", answer.output.parse_error);
  Json timings = Json::object();
  timings.set("load_seconds", opened.load_seconds);
  timings.set("prefill_seconds", answer.result.prefill_seconds);
  timings.set("decode_seconds", answer.result.decode_seconds);
  timings.set("prefill_tokens_per_second", answer.result.prefill_rate());
  timings.set("decode_tokens_per_second", answer.result.decode_rate());
  json.set("timings", std::move(timings));
  json.set("memory", memory_json());
  return json;
}

void tell_faults(const Answer& answer) {
  if (answer.has_broken_call()) log_warn(kBrokenCall);
  // Otherwise an empty line would be all there is to see.
  if (answer.result.finish == FinishReason::length && answer.is_empty() &&
      answer.output.reasoning) {
    log_warn("no token was left for the answer after the thoughts; allow more, or give --no-think");
  }
}

int run_once(CommandContext& context, const RunFlags& options) {
  const std::string prompt = whole_prompt(options, context.terminal());
  if (options.raw && options.answer.tools) throw UsageError("--raw excludes --tools");
  const PromptSettings settings = PromptSettings::of(options.answer, context.globals);
  const OpenedAssistant opened = open_assistant(context);
  AnswerRequest request = make_request(opened.assistant, prompt, options, settings);
  AnswerPrinter::Style style;
  style.show_reasoning = options.answer.show_thinking.value_or(context.terminal().err);
  style.live = true;
  AnswerPrinter printer(context.out, style);
  ProgressBar bar("Reading the prompt", context.terminal());
  request.on_prefill = [&](double done) { done < 1 ? bar.update(done) : bar.erase(); };
  if (!options.json) {
    request.sink = [&](const OutputDelta& delta) { printer.print(delta); };
  }
  Generator generator(opened.assistant.model, opened.assistant.tokenizer);
  const DeferInterrupt deferred;
  const Answer answer = generate_answer(generator, request);
  bar.erase();
  if (options.json) {
    context.out.line(record(opened, answer).dump());
  } else {
    printer.finish();
    tell_faults(answer);
  }
  context.out.flush();
  return answer.result.finish == FinishReason::cancelled ? interrupt_status() : 0;
}

}  // namespace

Command make_run_command() {
  auto options = std::make_shared<RunFlags>();
  Command command;
  command.name = "run";
  command.summary = "Answer one prompt";
  command.details =
      "The prompt is the argument, or standard input, or both with an empty line between. Standard "
      "output gets the answer and one newline, nothing else; thoughts go to standard error, "
      "dimmed, "
      "when that is a terminal or with --show-thinking.";
  command.examples = {"linnet run \"What is a linnet?\"",
                      "linnet run \"Summarize this text.\" < report.txt",
                      "linnet run --json --greedy --max-tokens 50 \"2 + 3 =\"",
                      "linnet run --raw \"Once upon a time\""};
  command.argument = Argument{
      .name = "PROMPT", .help = "the message to the model", .set = to_text(options->prompt)};
  command.options = answer_option_table(options->answer);
  const std::vector<Option> own = {
      {.name = "raw",
       .help =
           "continue the prompt as it is, without the chat template; control tokens in it count",
       .excludes = "system",
       .set = to_flag(options->raw)},
      {.name = "json",
       .help = "print one JSON record with text, tool calls, counts, times and memory",
       .set = to_flag(options->json)},
  };
  command.options.insert(command.options.end(), own.begin(), own.end());
  for (Option& option : sampling_option_table(options->sampling)) {
    command.options.push_back(std::move(option));
  }
  command.run = [options](CommandContext& context) { return run_once(context, *options); };
  return command;
}

}  // namespace linnet
