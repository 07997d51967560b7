#include "cli/batch_command.h"

#include <fmt/core.h>

#include <memory>

#include "base/clock.h"
#include "cli/batch_run.h"
#include "cli/interrupt.h"
#include "cli/open_model.h"
#include "cli/sampling_options.h"

namespace linnet {
namespace {

constexpr std::int64_t kMostParallel = 1024;

struct BatchFlags {
  std::string input = "-", output = "-";
  bool overwrite = false;
  bool resume = false;
  bool ordered = false;
  bool raw = false;
  std::int64_t parallel = 16;
  std::vector<std::size_t> pad_to;
  AnswerOptions answer;
  SamplingOptions sampling;
  MethodOptions method;
};

std::vector<std::size_t> parse_lengths(const std::string& text) {
  std::vector<std::size_t> lengths;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    lengths.push_back(
        static_cast<std::size_t>(parse_integer(text.substr(begin, end - begin), {1, INT32_MAX})));
    begin = end + 1;
  }
  return lengths;
}

BatchSettings settings_of(const BatchFlags& flags, const GlobalOptions& globals,
                          const OpenedAssistant& opened) {
  BatchSettings settings;
  settings.assistant = &opened.assistant;
  settings.model = opened.name;
  settings.config = flags.sampling.applied_to(opened.assistant.defaults);
  // It is the base of each line's own.
  settings.config.seed.reset();
  settings.seed = flags.sampling.seed.value_or(0);
  settings.method = flags.method;
  settings.prompt = PromptSettings::of(flags.answer, globals);
  settings.system = flags.answer.system;
  settings.raw = flags.raw;
  settings.pad_to = flags.pad_to;
  settings.other =
      fmt::format("{} {} {} {} {}", globals.lane.lane, globals.lane.weights, globals.lane.cache,
                  globals.dtype, opened.assistant.model->context());
  return settings;
}

void tell(const Terminal& terminal, const BatchRun& run, double seconds) {
  const BatchCounts& counts = run.counts();
  const std::string before =
      counts.skipped > 0 ? fmt::format(", {} done before", counts.skipped) : std::string();
  write_error_line(terminal, fmt::format("linnet: {} lines answered, {} failed{}, in {:.1f} s",
                                         counts.answered, counts.failed, before, seconds));
  const double rate = seconds > 0 ? static_cast<double>(counts.answer_tokens) / seconds : 0;
  write_error_line(
      terminal,
      fmt::format("linnet: {} prompt tokens, {} of them from the prefix cache; {} answer tokens, "
                  "{:.1f} tokens/s; {} of {} guessed ahead were right",
                  counts.prompt_tokens, counts.cached_tokens, counts.answer_tokens, rate,
                  counts.accepted_tokens, counts.drafted_tokens));
}

int run_batch(CommandContext& context, const BatchFlags& flags) {
  if (flags.input == "-" && context.terminal().in) {
    throw UsageError("the requests are missing: give a file with --input, or on standard input");
  }
  BatchInput input(flags.input);
  const DeferInterrupt deferred;
  BatchOutput output(flags.output, flags.overwrite, input, context.out);
  const OpenedAssistant opened = open_assistant(context);
  const BatchSettings settings = settings_of(flags, context.globals, opened);
  const auto start = Clock::now();
  BatchRun run(settings, flags.parallel, flags.ordered, input, output, context.terminal());
  run.run();
  tell(context.terminal(), run, seconds_since(start));
  if (interrupt_flag().load()) return interrupt_status();
  return run.counts().failed > 0 ? 1 : 0;
}

std::vector<Option> own_options(BatchFlags& flags) {
  return {
      {.name = "input",
       .letter = 'i',
       .value = "FILE",
       .help = "requests, a JSON object on each line; - is standard input (default)",
       .path_ending = ".jsonl",
       .is_path = true,
       .set = to_path(flags.input)},
      {.name = "output",
       .letter = 'o',
       .value = "FILE",
       .help = "records, one for each line; - is standard output (default). A file that an "
               "interrupted run has left is gone on with",
       .path_ending = ".jsonl",
       .is_path = true,
       .set = to_path(flags.output)},
      {.name = "resume",
       .help = "go on with the output that is there (default)",
       .excludes = "overwrite",
       .set = to_flag(flags.resume)},
      {.name = "overwrite",
       .help = "begin anew, whatever the output holds",
       .set = to_flag(flags.overwrite)},
      {.name = "ordered",
       .help = "records in the order of the lines, not as they are finished",
       .set = to_flag(flags.ordered)},
      {.name = "parallel",
       .value = "N",
       .help =
           "sequences that are computed at a time (default 16); the answers do not depend on it",
       .set = to_integer(flags.parallel, {1, kMostParallel})},
      {.name = "pad-to",
       .value = "LENGTHS",
       .help = "count prompts as padded to the smallest of these lengths, such as 64,256",
       .set = [&flags](const std::string& text) { flags.pad_to = parse_lengths(text); }},
      {.name = "raw",
       .help = "continue prompts as they are, without the chat template; control tokens count",
       .excludes = "system",
       .set = to_flag(flags.raw)},
  };
}

}  // namespace

Command make_batch_command() {
  auto flags = std::make_shared<BatchFlags>();
  Command command;
  command.name = "batch";
  command.summary = "Answer many requests from a file, together";
  command.details =
      "Each line is {\"id\": ..., \"prompt\": TEXT | \"messages\": [...] | \"ids\": [...]} with "
      "fields such as \"temperature\", \"max_tokens\", \"seed\", \"n\" or \"beams\" in the place "
      "of "
      "the options of the same name, or a line of OpenAI's batches. A line with a fault gives a "
      "record that tells it, and the others go on. Ctrl-C keeps what is finished; the same command "
      "then goes on from there. docs/batch.md has all fields.";
  command.examples = {"linnet batch -i requests.jsonl -o answers.jsonl",
                      "linnet batch -i requests.jsonl -o answers.jsonl --ordered --parallel 32",
                      "linnet batch --max-tokens 50 < requests.jsonl > answers.jsonl"};
  command.options = own_options(*flags);
  std::vector<Option> answer = answer_option_table(flags->answer);
  std::erase_if(answer, [](const Option& option) { return option.name == "show-thinking"; });
  for (auto table :
       {answer, sampling_option_table(flags->sampling), method_option_table(flags->method),
        bound_option_table(flags->method, {"stop", "error"})}) {
    command.options.insert(command.options.end(), table.begin(), table.end());
  }
  command.run = [flags](CommandContext& context) { return run_batch(context, *flags); };
  return command;
}

}  // namespace linnet
