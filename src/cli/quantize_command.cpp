#include "cli/quantize_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/log.h"
#include "cli/byte_count.h"
#include "cli/interrupt.h"
#include "cli/machine.h"
#include "cli/open_model.h"
#include "cli/progress_bar.h"
#include "cli/text_input.h"
#include "quantize/quantize_model.h"
#include "quantize/texts.h"

namespace linnet {
namespace {

constexpr RowFormat kFormats[] = {RowFormat::n4, RowFormat::s6, RowFormat::i8, RowFormat::f32,
                                  RowFormat::affine4};

struct QuantizeFlags {
  std::string model;
  std::string out;
  std::string body;
  std::string head;
  std::vector<std::string> texts;  // paths
  bool no_smoothing = false;
  bool no_importance = false;
  bool no_feedback = false;
  bool decoded = false;
  std::optional<std::uint64_t> dither;
  std::uint64_t shard_bytes = kDefaultShardBytes;
  bool force = false;
};

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const RowFormat format : kFormats) names.emplace_back(row_format_name(format));
  return names;
}

RowFormat format_named(const std::string& name) {
  for (const RowFormat format : kFormats) {
    if (row_format_name(format) == name) return format;
  }
  throw UsageError("weights cannot be quantized to " + name);
}

QuantizeOptions options_of(const CommandContext& context, const QuantizeFlags& flags,
                           const ModelFiles& source) {
  const std::string& global = context.globals.lane.weights;
  QuantizeOptions options;
  options.weights = format_named(!flags.body.empty() ? flags.body
                                 : global != "auto"  ? global
                                                     : "n4");
  // Four bits are too few for the head: a third of the whole error would be its own.
  const RowFormat fitting = options.weights == RowFormat::n4 ? RowFormat::s6 : options.weights;
  options.head = flags.head.empty() ? fitting : format_named(flags.head);
  options.smoothing = !flags.no_smoothing;
  options.importance = !flags.no_importance;
  options.feedback = !flags.no_feedback;
  options.decoded = flags.decoded;
  options.dither = flags.dither;
  options.threads = static_cast<int>(context.globals.threads);
  options.overwrite = flags.force;
  options.shard_bytes = flags.shard_bytes;
  options.cancel = &interrupt_flag();
  if (options.calibrates()) {
    EncodeOptions encode;
    encode.parsing = SpecialParsing::all;
    options.calibration =
        source.load_tokenizer()->encode(joined_texts(flags.texts, calibration_text()), encode);
  }
  return options;
}

void print_report(CommandContext& context, const std::string& target,
                  const QuantizeReport& report) {
  Output& out = context.out;
  out.foreign(fmt::format("{}: {} tensors, {}\n", target, report.written.tensors,
                          byte_text(report.written.bytes)));
  if (report.resumed_stages > 0) {
    out.line(fmt::format("an earlier run had finished {} stages", report.resumed_stages));
  }
  for (const std::string& note : report.written.notes) out.foreign("note: " + note + "\n");
  for (const std::string& name : report.without_feedback) {
    out.foreign("note: " + name + " has no error feedback: the calibration text says nothing\n");
  }
}

int run_quantize(CommandContext& context, const QuantizeFlags& flags) {
  if (flags.out.empty()) throw UsageError("--out is missing: the folder to write");
  GlobalOptions globals = context.globals;
  if (!flags.model.empty()) globals.model = flags.model;
  const ModelFiles source = open_model_files(chosen_model(globals), open_options(globals));
  QuantizeOptions options = options_of(context, flags, source);
  ProgressBar bar("Quantizing", context.terminal(), ProgressBar::Eta::shown);
  options.on_progress = [&](double fraction) { bar.update(fraction); };
  const DeferInterrupt deferred;
  try {
    const QuantizeReport report = quantize_model(source, flags.out, options);
    bar.erase();
    print_report(context, flags.out, report);
  } catch (const Error& error) {
    bar.erase();
    if (error.code() != ErrorCode::cancelled) throw;
    log_warn(error.what());
    return interrupt_status();
  }
  return 0;
}

}  // namespace

Command make_quantize_command() {
  auto flags = std::make_shared<QuantizeFlags>();
  Command command;
  command.name = "quantize";
  command.summary = "Write a model with weights of 4 to 8 bits, calibrated on a text";
  command.details =
      "Reads a model folder or a GGUF file and writes a folder. The model computes a text layer by "
      "layer; from what its matrices read come smoothing (large columns of activations are made "
      "smaller and the weights larger, which int8 activations need), importance weights for the "
      "search of scales, and error feedback: each weight is rounded so that it makes up for the "
      "errors before it. Without --text that is a text that is part of Linnet.\n"
      "n4: 4.25 bits. s6: 6.125 bits. i8: 8 bits. Without --body the global --weights counts, or "
      "n4. affine4, 4 "
      "bits with a scale and a bias for 64 weights, is there to compare with, and only --decoded.\n"
      "A run that was interrupted keeps what it has done in a folder beside the result, "
      "FOLDER.parts, "
      "and the same command goes on from there. The result appears whole or not at all.";
  command.examples = {"linnet quantize path/to/SmolLM3-3B --out smollm3-n4",
                      "linnet quantize model.gguf --out model-i8 --body i8",
                      "linnet quantize model --out measured --decoded --no-feedback"};
  command.argument = Argument{
      .name = "MODEL", .help = "as --model", .is_path = true, .set = to_path(flags->model)};
  command.options = {
      {.name = "out",
       .value = "FOLDER",
       .help = "the folder to write",
       .is_path = true,
       .set = to_path(flags->out)},
      {.name = "body",
       .value = "FORMAT",
       .help = "of all matrices but head and embedding: n4 (default), s6, i8, f32, affine4",
       .choices = format_names(),
       .set = to_choice(flags->body, format_names())},
      {.name = "head",
       .value = "FORMAT",
       .help = "of head and embedding (default: s6 with n4, else as the body)",
       .choices = format_names(),
       .set = to_choice(flags->head, format_names())},
      {.name = "text",
       .value = "FILE",
       .help = "the text to calibrate on; several are read one after the other",
       .repeatable = true,
       .is_path = true,
       .set = [flags](const std::string& path) { flags->texts.push_back(path); }},
      {.name = "no-smoothing",
       .help = "leave the columns of activations as they are",
       .set = to_flag(flags->no_smoothing)},
      {.name = "no-importance",
       .help = "search scales as if all columns mattered alike",
       .set = to_flag(flags->no_importance)},
      {.name = "no-feedback",
       .help = "round every weight to the nearest value",
       .set = to_flag(flags->no_feedback)},
      {.name = "decoded",
       .help = "write the rounded values as f32, to measure them alone",
       .set = to_flag(flags->decoded)},
      {.name = "dither",
       .value = "SEED",
       .help = "first move every weight by up to half a step of the grid that it lies on: a fair "
               "baseline from weights that were rounded before",
       .set = to_seed(flags->dither)},
      {.name = "max-shard-size",
       .value = "SIZE",
       .help = "most bytes of one safetensors file, such as 500MB or 2GiB (default 5GB)",
       .set = to_byte_count(flags->shard_bytes)},
      {.name = "force", .help = "replace what is there", .set = to_flag(flags->force)},
  };
  command.run = [flags](CommandContext& context) { return run_quantize(context, *flags); };
  return command;
}

}  // namespace linnet
