#include "cli/bench_command.h"

#include <memory>

#include "cli/bench_engine.h"
#include "cli/bench_machine.h"
#include "cli/bench_model.h"
#include "cli/bench_options.h"
#include "cli/bench_sampler.h"
#include "cli/bench_tokenizer.h"

namespace linnet {
namespace {

struct Subject {
  const char* name;
  int (*run)(CommandContext&, const BenchOptions&);
};

constexpr Subject kSubjects[] = {
    {"tokenizer", bench_tokenizer}, {"machine", bench_machine}, {"model", bench_model},
    {"engine", bench_engine},       {"sampler", bench_sampler},
};

}  // namespace

Command make_bench_command() {
  auto options = std::make_shared<BenchOptions>();
  std::vector<std::string> names;
  for (const Subject& subject : kSubjects) names.emplace_back(subject.name);
  Command command;
  command.name = "bench";
  command.summary = "Measure how fast a part of Linnet is on this machine";
  command.details =
      "tokenizer: the time to load it, and on one core how many megabytes (10^6 bytes) of text it "
      "encodes and decodes in a second. --model may be a tokenizer.json too. Without --text three "
      "generated texts are used: like English, like Chinese, like code. \"first\" is the first "
      "encoding of a text, by a tokenizer that has seen none of its words.\n"
      "machine: the ceilings, which are how fast all threads read memory, and the rate of the "
      "multiplications of the kernels in use.\n"
      "model: prompts, new tokens and passes over several rows, each with its share of the "
      "ceilings, "
      "which are measured anew before and after each line. Tokens are random, so --model needs no "
      "tokenizer. The table is Markdown.\n"
      "engine: many streams against one, a stream beside a long prompt, a prompt that begins like "
      "an earlier one; with --text, whose first tokens are the prompt, what guessing gains.\n"
      "sampler: the choice of one of 128,256 tokens, by processor; no model is needed.\n"
      "Rates are the least, the median and the greatest of all runs.";
  command.examples = {
      "linnet bench tokenizer --model smollm2",
      "linnet bench tokenizer --model path/to/tokenizer.json --text book.txt --json",
      "linnet bench machine", "linnet bench model --model smollm2 --weights i8 --cache i8"};
  command.argument =
      Argument{.name = "SUBJECT",
               .help = "what to measure: tokenizer, machine, model, engine or sampler",
               .choices = names,
               .required = true,
               .set = to_choice(options->subject, names)};
  command.options = {
      {.name = "text",
       .value = "FILE",
       .help = "a text to measure with; bytes that are not UTF-8 are replaced",
       .repeatable = true,
       .is_path = true,
       .set = [options](const std::string& path) { options->texts.push_back(path); }},
      {.name = "runs",
       .value = "N",
       .help = "how often each thing is measured (default 5)",
       .set = to_integer(options->runs, {1, 1000})},
      {.name = "context",
       .value = "N",
       .help = "model, engine: tokens of the long prompt (default 4096)",
       .set = to_integer(options->context, {64, 1 << 20})},
      {.name = "save",
       .value = "FILE",
       .help = "model, engine: write the JSON record there too",
       .is_path = true,
       .set = to_text(options->save)},
      {.name = "json", .help = "print a JSON record", .set = to_flag(options->json)},
  };
  command.run = [options](CommandContext& context) {
    for (const Subject& subject : kSubjects) {
      if (options->subject == subject.name) return subject.run(context, *options);
    }
    throw UsageError("SUBJECT is missing; linnet bench --help lists them");
  };
  return command;
}

}  // namespace linnet
