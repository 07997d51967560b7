#include "cli/make_random_command.h"

#include <fmt/core.h>

#include <memory>

#include "base/error.h"
#include "base/log.h"
#include "cli/interrupt.h"
#include "cli/machine.h"
#include "cli/progress_bar.h"
#include "model/random_model.h"

namespace linnet {
namespace {

struct MakeRandomFlags {
  std::string config;
  std::string folder;
  std::optional<std::uint64_t> seed;
};

RandomFormat format_of(const std::string& weights) {
  if (weights == "f32") return RandomFormat::f32;
  if (weights == "i8") return RandomFormat::i8;
  if (weights == "n4") return RandomFormat::n4;
  if (weights == "s6") return RandomFormat::s6;
  if (weights == "bf16" || weights == "auto") return RandomFormat::bf16;
  throw UsageError("--weights: expected f32, bf16, i8, n4 or s6, found " + weights);
}

int run_make_random(CommandContext& context, const MakeRandomFlags& flags) {
  if (flags.config.empty()) throw UsageError("--config is missing: the config.json of the shape");
  if (flags.folder.empty()) throw UsageError("--out is missing: the folder to write");
  RandomModelOptions options;
  options.format = format_of(context.globals.lane.weights);
  options.seed = flags.seed.value_or(0);
  options.output.threads = static_cast<int>(context.globals.threads);
  options.output.cancel = &interrupt_flag();
  ProgressBar bar("Writing " + flags.folder, context.terminal());
  options.output.on_progress = [&](double fraction) { bar.update(fraction); };
  const Json config = Json::parse_file(flags.config);
  const DeferInterrupt deferred;
  try {
    const RandomModelReport report =
        write_random_model(config, flags.config, flags.folder, options);
    bar.erase();
    context.out.foreign(fmt::format("{}: {} parameters, {}\n", flags.folder, report.parameters,
                                    byte_text(report.bytes)));
  } catch (const Error& error) {
    bar.erase();
    if (error.code() != ErrorCode::cancelled) throw;
    log_warn(error.what());
    return interrupt_status();
  }
  return 0;
}

}  // namespace

Command make_make_random_command() {
  auto flags = std::make_shared<MakeRandomFlags>();
  Command command;
  command.name = "make-random";
  command.summary = "Write a model of random weights in the shape of a config";
  command.details =
      "For measuring speed and memory, which do not depend on values. --weights sets the format of "
      "the matrices (default bf16); under n4 the embedding and the head are s6. There is no "
      "tokenizer, so such a model computes, but cannot chat. The folder appears whole or not at "
      "all; the same seed gives the same bytes.";
  command.examples = {"linnet make-random --config config.json --out folder --weights n4"};
  command.options = {
      {.name = "config",
       .value = "FILE",
       .help = "the config.json of a model",
       .path_ending = ".json",
       .is_path = true,
       .set = to_path(flags->config)},
      {.name = "out",
       .value = "FOLDER",
       .help = "where to write; must be absent or empty",
       .is_path = true,
       .set = to_path(flags->folder)},
      {.name = "seed",
       .value = "N",
       .help = "of the random numbers (default 0)",
       .set = to_seed(flags->seed)},
  };
  command.run = [flags](CommandContext& context) { return run_make_random(context, *flags); };
  return command;
}

}  // namespace linnet
