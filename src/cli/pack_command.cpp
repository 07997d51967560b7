#include "cli/pack_command.h"

#include <fmt/core.h>

#include <memory>

#include "base/error.h"
#include "base/log.h"
#include "cli/interrupt.h"
#include "cli/machine.h"
#include "cli/open_model.h"
#include "cli/progress_bar.h"
#include "engine/pack.h"

namespace linnet {
namespace {

struct PackFlags {
  std::string source;
  std::string target;
  bool force = false;
};

ConvertReport pack(CommandContext& context, const PackFlags& flags) {
  const ModelFiles source =
      open_model_files(find_model(flags.source), open_options(context.globals));
  if (!source.packed.empty()) {
    fail(ErrorCode::invalid_argument, source.path.string() + ": is packed already");
  }
  checked_target(source, flags.target, flags.force);  // before the work
  LaneChoice choice = context.globals.lane;
  choice.lane = "native";
  LoadOptions load = load_options(context.globals);
  choose_lane(choice, load);
  const auto model = Model::load(source, load);
  ProgressBar bar("Writing " + flags.target, context.terminal());
  const auto on_progress = [&](double fraction) {
    bar.update(fraction);
    if (interrupt_flag().load()) fail(ErrorCode::cancelled, "packing was cancelled");
  };
  ConvertReport report = pack_model(*model, source, flags.target, flags.force, on_progress);
  bar.erase();
  return report;
}

int run_pack(CommandContext& context, const PackFlags& flags) {
  if (flags.target.empty()) throw UsageError("--out is missing: the folder to write");
  const DeferInterrupt deferred;
  try {
    const ConvertReport report = pack(context, flags);
    context.out.foreign(
        fmt::format("{}: {} parts, {}\n", flags.target, report.tensors, byte_text(report.bytes)));
    for (const std::string& note : report.notes) context.out.foreign("note: " + note + "\n");
  } catch (const Error& error) {
    if (error.code() != ErrorCode::cancelled) throw;
    log_warn(error.what());
    return interrupt_status();
  }
  return 0;
}

}  // namespace

Command make_pack_command() {
  auto flags = std::make_shared<PackFlags>();
  Command command;
  command.name = "pack";
  command.summary = "Write a model so that it loads at once";
  command.details =
      "The result is a folder with the weights in model.linnet, in the layout of the native lane "
      "and the format that --weights names, beside config, tokenizer and template. Such a model is "
      "mapped, not read and packed anew, when a command loads it; every part is checked against "
      "its checksum then. It runs in the native lane only. The file may move to another machine; a "
      "Linnet with another layout refuses it, and asks for it to be packed again.";
  command.examples = {"linnet pack smollm2 --out smollm2-i8 --weights i8",
                      "linnet run --model ./smollm2-i8 \"What is a linnet?\""};
  command.argument = Argument{.name = "MODEL",
                              .help = "a model folder or a GGUF file",
                              .required = true,
                              .is_path = true,
                              .set = to_path(flags->source)};
  command.options = {
      {.name = "out",
       .value = "FOLDER",
       .help = "where to write",
       .is_path = true,
       .set = to_path(flags->target)},
      {.name = "force", .help = "replace what is there", .set = to_flag(flags->force)},
  };
  command.run = [flags](CommandContext& context) { return run_pack(context, *flags); };
  return command;
}

}  // namespace linnet
