#include "cli/convert_command.h"

#include <fmt/core.h>

#include <memory>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "cli/byte_count.h"
#include "cli/interrupt.h"
#include "cli/machine.h"
#include "cli/open_model.h"
#include "cli/progress_bar.h"
#include "formats/convert.h"
#include "model/config.h"

namespace linnet {
namespace {

struct ConvertFlags {
  std::vector<std::string> paths;
  std::uint64_t shard_bytes = kDefaultShardBytes;
  bool force = false;
};

void print_report(CommandContext& context, const std::string& target, const ConvertReport& report) {
  Output& out = context.out;
  out.foreign(fmt::format("{}: {} tensors, {}\n", target, report.tensors, byte_text(report.bytes)));
  if (report.files.size() > 1) {
    for (const std::string& name : report.files) out.foreign(fmt::format("  {}\n", name));
  }
  for (const std::string& note : report.notes) out.foreign("note: " + note + "\n");
}

int run_convert(CommandContext& context, const ConvertFlags& flags) {
  if (flags.paths.size() != 2) {
    throw UsageError(
        fmt::format("expected two paths, the model and the result, found {}", flags.paths.size()));
  }
  OpenOptions open = open_options(context.globals);
  ConvertOptions options;
  options.dtype = std::exchange(open.dtype, std::nullopt);
  options.shard_bytes = flags.shard_bytes;
  options.overwrite = flags.force;
  options.output.threads = static_cast<int>(context.globals.threads);
  options.output.cancel = &interrupt_flag();
  const ModelFiles source = open_model_files(find_model(flags.paths[0]), open);
  // A config that no model could be made from is refused before anything is written.
  ModelConfig::from_json(source.config, source.config_file);
  for (const std::string& note : source.notes) log_info(note);
  ProgressBar bar("Writing " + flags.paths[1], context.terminal());
  options.output.on_progress = [&](double fraction) { bar.update(fraction); };
  const DeferInterrupt deferred;
  try {
    const ConvertReport report = convert_model(source, flags.paths[1], options);
    bar.erase();
    print_report(context, flags.paths[1], report);
  } catch (const Error& error) {
    bar.erase();
    if (error.code() != ErrorCode::cancelled) throw;
    log_warn(error.what());
    return interrupt_status();
  }
  return 0;
}

}  // namespace

Command make_convert_command() {
  auto flags = std::make_shared<ConvertFlags>();
  Command command;
  command.name = "convert";
  command.summary = "Write a model in another format or type";
  command.details =
      "SRC is a model folder or a GGUF file. DST becomes a GGUF file when its name ends in .gguf, "
      "else a folder of safetensors with config, tokenizer and template. --dtype sets the type of "
      "the matrices. The result appears whole or not at all.";
  command.examples = {"linnet convert model.gguf folder",
                      "linnet convert folder model.gguf --dtype q8_0",
                      "linnet convert folder other --dtype bf16 --max-shard-size 2GB"};
  command.argument =
      Argument{.name = "PATH",
               .help = "SRC and DST",
               .many = true,
               .required = true,
               .is_path = true,
               .set = [flags](const std::string& path) { flags->paths.push_back(path); }};
  command.options = {
      {.name = "max-shard-size",
       .value = "SIZE",
       .help = "most bytes of one safetensors file, such as 500MB or 2GiB (default 5GB)",
       .set = to_byte_count(flags->shard_bytes)},
      {.name = "force", .help = "replace what is there", .set = to_flag(flags->force)},
  };
  command.run = [flags](CommandContext& context) { return run_convert(context, *flags); };
  return command;
}

}  // namespace linnet
