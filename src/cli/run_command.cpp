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
#include "cli/method_options.h"
#include "cli/open_model.h"
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
  MethodOptions method;
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
  request.request.config = options.sampling.applied_to(assistant.defaults);
  request.request.config.resolve_texts(*assistant.tokenizer);
  if (options.raw) {
    EncodeOptions encode;
    encode.add_special_tokens = true;
    request.request.prompt = assistant.tokenizer->encode(prompt, encode);
  } else {
    Conversation conversation;
    conversation.set_system(options.answer.system);
    conversation.add_user(prompt);
    ChatPrompt made = make_chat_prompt(assistant, conversation, settings);
    request.request.prompt = std::move(made.ids);
    request.parser = made.parser;
  }
  options.method.apply_to(request.request, *assistant.tokenizer, request.parser,
                          assistant.model->context());
  return request;
}

void set_all(Json& json, const Json& members) {
  for (const auto& [key, value] : members.as_object()) json.set(key, value);
}

// Several answers are an array, each with its own numbers.
Json record(const OpenedAssistant& opened, const std::vector<Answer>& answers) {
  const Tokenizer& tokenizer = *opened.assistant.tokenizer;
  Json json = Json::object();
  json.set("model", opened.name);
  const GenerationResult& first = answers.front().result;
  if (answers.size() == 1) {
    set_all(json, result_json(first));
    set_all(json, answer_json(answers.front(), tokenizer));
  } else {
    Json list = Json::array();
    for (const Answer& answer : answers) {
      Json each = result_json(answer.result);
      set_all(each, answer_json(answer, tokenizer));
      list.push_back(std::move(each));
    }
    json.set("answers", std::move(list));
  }
  Json timings = Json::object();
  timings.set("load_seconds", opened.load_seconds);
  timings.set("prefill_seconds", first.prefill_seconds);
  timings.set("decode_seconds", first.decode_seconds);
  timings.set("prefill_tokens_per_second", first.prefill_rate());
  timings.set("decode_tokens_per_second", first.decode_rate());
  json.set("timings", std::move(timings));
  json.set("memory", memory_json());
  return json;
}

// Answers that are complete, one after the other: on a terminal under a heading each.
void print_answers(Output& out, AnswerPrinter& printer, const std::vector<Answer>& answers) {
  std::size_t number = 0;
  for (const Answer& answer : answers) {
    if (number++ > 0) out.write("\n");
    if (out.terminal().out) {
      const std::string heading = fmt::format("Answer {} of {}", number, answers.size());
      out.line(styled(out.terminal().out_color, kBold, heading));
    }
    const ParsedOutput& parts = answer.output;
    if (parts.reasoning) printer.print({OutputKind::reasoning, *parts.reasoning, {}});
    if (parts.content) printer.print({OutputKind::content, *parts.content, {}});
    for (const ToolCall& call : parts.tool_calls) printer.print({OutputKind::tool_call, "", call});
    printer.finish();
  }
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
  if (options.method.logprobs >= 0 && !options.json) throw UsageError("--logprobs needs --json");
  const PromptSettings settings = PromptSettings::of(options.answer, context.globals);
  const OpenedAssistant opened = open_assistant(context);
  AnswerRequest request = make_request(opened.assistant, prompt, options, settings);
  AnswerPrinter::Style style;
  style.show_reasoning = options.answer.show_thinking.value_or(context.terminal().err);
  style.live = true;
  AnswerPrinter printer(context.out, style);
  ProgressBar bar("Reading the prompt", context.terminal());
  request.on_prefill = [&](double done) { done < 1 ? bar.update(done) : bar.erase(); };
  const bool is_live = !options.json && options.method.answers == 1;
  if (is_live) request.sink = [&](const OutputDelta& delta) { printer.print(delta); };
  Generator generator(opened.assistant.model, opened.assistant.tokenizer);
  const DeferInterrupt deferred;
  const std::vector<Answer> answers = generate_answers(generator, std::move(request));
  bar.erase();
  if (options.json) {
    context.out.line(record(opened, answers).dump());
  } else if (is_live) {
    printer.finish();
  } else {
    print_answers(context.out, printer, answers);
  }
  if (!options.json) {
    for (const Answer& answer : answers) tell_faults(answer);
  }
  context.out.flush();
  return answers.front().result.finish == FinishReason::cancelled ? interrupt_status() : 0;
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
                      "linnet run --answers 3 --max-tokens 40 \"Name a bird.\"",
                      "linnet run --beams 4 --max-tokens 40 \"Name a bird.\"",
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
  for (auto table : {sampling_option_table(options->sampling), method_option_table(options->method),
                     bound_option_table(options->method, {"stop", "error"})}) {
    command.options.insert(command.options.end(), table.begin(), table.end());
  }
  command.run = [options](CommandContext& context) { return run_once(context, *options); };
  return command;
}

}  // namespace linnet
