#include "cli/eval_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "cli/interrupt.h"
#include "cli/open_model.h"
#include "cli/progress_bar.h"
#include "cli/text_input.h"
#include "quantize/measure.h"
#include "quantize/texts.h"

namespace linnet {
namespace {

struct EvalFlags {
  std::vector<std::string> texts;  // paths
  std::int64_t window = 384;
  std::int64_t max_tokens = 0;  // 0: all
  std::optional<std::string> reference;
  LaneChoice reference_lane;
  bool compare = false;  // any option of the reference was given
  bool layers = false;
  bool json = false;
};

std::shared_ptr<const Model> load(CommandContext& context, const std::string& name,
                                  const LaneChoice& lane) {
  GlobalOptions globals = context.globals;
  globals.model = name;
  globals.lane = lane;
  ProgressBar bar("Loading " + name, context.terminal());
  LoadOptions options = load_options(globals);
  options.on_progress = [&](double fraction) { bar.update(fraction); };
  return Model::load(open_model_files(chosen_model(globals), open_options(globals)), options);
}

Json mean_json(const Mean& mean) {
  Json json = Json::object();
  json.set("mean", mean.value);
  json.set("standard_error", mean.error);
  return json;
}

// e^loss, and its standard error to first order.
Mean perplexity_of(const Mean& loss) {
  const double perplexity = std::exp(loss.value);
  return {perplexity, perplexity * loss.error};
}

// Of the perplexity against the reference's: +0.1 is ten percent more.
double perplexity_change(const Measurement& result) {
  return std::exp(result.loss.value - result.divergence->reference_loss.value) - 1;
}

Json result_json(const Measurement& result, const EvalFlags& flags, std::size_t tokens) {
  Json json = Json::object();
  json.set("tokens", static_cast<std::int64_t>(tokens));
  json.set("window", flags.window);
  json.set("predictions", result.predictions);
  json.set("loss", mean_json(result.loss));
  json.set("perplexity", mean_json(perplexity_of(result.loss)));
  if (!result.divergence) return json;
  const Divergence& divergence = *result.divergence;
  Json reference = Json::object();
  reference.set("perplexity", mean_json(perplexity_of(divergence.reference_loss)));
  json.set("reference", reference);
  json.set("kl_divergence", mean_json(divergence.kl));
  json.set("kl_p99", divergence.kl_p99);
  json.set("top1_agreement", divergence.top1_agreement);
  json.set("perplexity_change", perplexity_change(result));
  if (flags.layers) {
    Json layers = Json::array();
    for (const double error : divergence.layer_errors) layers.push_back(error);
    json.set("layer_errors", layers);
  }
  return json;
}

void print_result(Output& out, const Measurement& result) {
  const Mean own = perplexity_of(result.loss);
  out.line(fmt::format("perplexity        {:.3f} ± {:.3f}, over {} tokens", own.value, own.error,
                       result.predictions));
  if (!result.divergence) return;
  const Divergence& divergence = *result.divergence;
  const Mean other = perplexity_of(divergence.reference_loss);
  out.line(fmt::format("of the reference  {:.3f} ± {:.3f}, change {:+.2f} %", other.value,
                       other.error, 100 * perplexity_change(result)));
  out.line(fmt::format("KL divergence     {:.5f} ± {:.5f} nats, 99th percentile {:.4f}",
                       divergence.kl.value, divergence.kl.error, divergence.kl_p99));
  out.line(fmt::format("top-1 agreement   {:.2f} %", 100 * divergence.top1_agreement));
  for (std::size_t i = 0; i < divergence.layer_errors.size(); ++i) {
    out.line(fmt::format("{:16}  {:.3f} % of the residual stream",
                         i == 0 ? "embedding" : fmt::format("after layer {}", i - 1),
                         100 * divergence.layer_errors[i]));
  }
}

int run_eval(CommandContext& context, const EvalFlags& flags) {
  const std::filesystem::path path = chosen_model(context.globals);
  const auto tokenizer = open_model_files(path, open_options(context.globals)).load_tokenizer();
  EncodeOptions encode;
  encode.parsing = SpecialParsing::all;
  std::vector<TokenId> ids =
      tokenizer->encode(joined_texts(flags.texts, evaluation_text()), encode);
  if (flags.max_tokens > 0) {
    ids.resize(std::min(ids.size(), static_cast<std::size_t>(flags.max_tokens)));
  }
  const auto model = load(context, path.string(), context.globals.lane);
  std::shared_ptr<const Model> reference;
  if (flags.compare) {
    reference = load(context, flags.reference.value_or(path.string()), flags.reference_lane);
  }
  ProgressBar bar("Measuring", context.terminal());
  MeasureOptions options;
  options.window = flags.window;
  options.layers = flags.layers;
  options.cancel = &interrupt_flag();
  options.on_progress = [&](double fraction) { bar.update(fraction); };
  const DeferInterrupt deferred;
  try {
    const Measurement result = measure(*model, reference.get(), ids, options);
    bar.erase();
    if (flags.json) {
      context.out.line(result_json(result, flags, ids.size()).dump({.indent = 2}));
    } else {
      print_result(context.out, result);
    }
  } catch (const Error& error) {
    bar.erase();
    if (error.code() != ErrorCode::cancelled) throw;
    log_warn(error.what());
    return interrupt_status();
  }
  return 0;
}

}  // namespace

Command make_eval_command() {
  auto flags = std::make_shared<EvalFlags>();
  const auto comparing = [flags](OptionSetter set) {
    return [flags, set = std::move(set)](const std::string& value) {
      flags->compare = true;
      set(value);
    };
  };
  Command command;
  command.name = "eval";
  command.summary = "Measure how well a model predicts a text, and what a precision costs";
  command.details =
      "Prints the model's perplexity on a text, with its standard error. With any of the options "
      "that begin with --reference it also runs a reference, another precision of the same model "
      "or another model with the same vocabulary, and prints how far the next-token distributions "
      "are from the reference's: mean and 99th percentile of the KL divergence in nats, and how "
      "often both have the same likeliest token. What the reference options leave out is the "
      "same as for any command without options. Without --text a text is read that is part of "
      "Linnet: prose, tickets and chats in six languages, and code.";
  command.examples = {"linnet eval --model smollm2 --weights i8 --cache i8 --reference-weights f32",
                      "linnet eval --model quantized --reference original --json",
                      "linnet eval --lane reference --text book.txt --window 1024"};
  command.options = {
      {.name = "text",
       .value = "FILE",
       .help = "the text to predict; several are read one after the other",
       .repeatable = true,
       .is_path = true,
       .set = [flags](const std::string& path) { flags->texts.push_back(path); }},
      {.name = "window",
       .value = "N",
       .help = "tokens that are read together, each window without those before (default 384)",
       .set = to_integer(flags->window, {2, 1 << 20})},
      {.name = "max-tokens",
       .value = "N",
       .help = "read no more than so many tokens (default: all)",
       .set = to_integer(flags->max_tokens, {2, INT64_MAX})},
      {.name = "reference",
       .value = "MODEL",
       .help = "the model to compare with (default: the same)",
       .is_path = true,
       .set = comparing(to_path(flags->reference))},
      {.name = "reference-lane",
       .value = "LANE",
       .help = "as --lane, of the reference",
       .choices = lane_names(),
       .set = comparing(to_choice(flags->reference_lane.lane, lane_names()))},
      {.name = "reference-weights",
       .value = "FORMAT",
       .help = "as --weights, of the reference",
       .choices = weight_names(),
       .set = comparing(to_choice(flags->reference_lane.weights, weight_names()))},
      {.name = "reference-cache",
       .value = "FORMAT",
       .help = "as --cache, of the reference",
       .choices = cache_names(),
       .set = comparing(to_choice(flags->reference_lane.cache, cache_names()))},
      {.name = "layers",
       .help = "also the relative error of the hidden states after each layer",
       .set = comparing(to_flag(flags->layers))},
      {.name = "json", .help = "print a JSON record", .set = to_flag(flags->json)},
  };
  command.run = [flags](CommandContext& context) { return run_eval(context, *flags); };
  return command;
}

}  // namespace linnet
