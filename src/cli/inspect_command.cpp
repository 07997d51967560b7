#include <cstdint>
#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/inspect_report.h"
#include "cli/open_model.h"

namespace linnet {
namespace {

struct InspectOptions {
  std::string model;
  InspectParts parts;
  bool json = false;
  std::int64_t context = 0;
};

int run_inspect(CommandContext& context, const InspectOptions& options) {
  GlobalOptions globals = context.globals;
  if (!options.model.empty()) globals.model = options.model;
  const ModelSummary summary =
      summarize_model(chosen_model(globals), open_options(globals), globals.yarn.value_or(0));
  const MemoryEstimate memory = estimate_memory(
      summary, options.context > 0 ? options.context : summary.config.context(), globals.lane);
  if (options.json) {
    context.out.line(inspection_record(summary, options.parts, memory).dump({.indent = 2}));
  } else {
    print_inspection(context.out, summary, options.parts, memory);
  }
  return 0;
}

}  // namespace

Command make_inspect_command() {
  auto options = std::make_shared<InspectOptions>();
  Command command;
  command.name = "inspect";
  command.summary = "Show what a model consists of";
  command.details =
      "Reads headers and small files only: fast for a model of any size. A config.json alone will "
      "do. --template prints the template's source and nothing else; --program tells what each "
      "step costs for one token.";
  command.examples = {"linnet inspect tiny", "linnet inspect tiny --tensors --program",
                      "linnet inspect model.gguf --context 8192", "linnet inspect config.json",
                      "linnet inspect tiny --json"};
  command.argument = Argument{.name = "MODEL",
                              .help = "as --model",
                              .names = {"tiny", "smollm2"},
                              .path_ending = ".gguf",
                              .is_path = true,
                              .set = to_path(options->model)};
  command.options = {
      {.name = "tensors",
       .help = "list the tensors with types and shapes",
       .set = to_flag(options->parts.tensors)},
      {.name = "context",
       .value = "N",
       .help = "estimate memory for this many positions (default: all the model has)",
       .set = to_integer(options->context, {1, INT64_MAX})},
      {.name = "program",
       .help = "list the steps of the program",
       .set = to_flag(options->parts.program)},
      {.name = "lowered",
       .help = "list the steps of the native lane, with the buffers b0, b1, ... that they use",
       .set = to_flag(options->parts.lowered)},
      {.name = "template",
       .help = "print the chat template",
       .set = to_flag(options->parts.show_template)},
      {.name = "json", .help = "print a JSON record", .set = to_flag(options->json)},
  };
  command.run = [options](CommandContext& context) { return run_inspect(context, *options); };
  return command;
}

}  // namespace linnet
