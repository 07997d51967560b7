#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "cli/command.h"
#include "cli/machine.h"
#include "cli/model_summary.h"
#include "cli/open_model.h"
#include "engine/generation.h"

namespace linnet {
namespace {

struct InspectOptions {
  std::string model;
  bool tensors = false;
  bool program = false;
  bool show_template = false;
  bool json = false;
  std::int64_t context = 0;
};

std::string rope_text(const ModelConfig& config) {
  const auto rotated = std::count(config.layer_has_rope.begin(), config.layer_has_rope.end(), true);
  return fmt::format("{}, theta {}, in {} of {} layers", config.rope.type, config.rope.theta,
                     rotated, config.layers);
}

// Label and value of each line about the model itself.
std::vector<std::pair<std::string, std::string>> summary_lines(const ModelSummary& s) {
  const ModelConfig& c = s.config;
  const auto windowed =
      std::count_if(c.layer_window.begin(), c.layer_window.end(), [](auto w) { return w > 0; });
  std::vector<std::pair<std::string, std::string>> lines = {
      {"path", s.files.path.string()},
      {"format", s.files.format},
      {"architecture", c.architecture},
      {"parameters",
       fmt::format("{} ({:.4g} million)", s.parameters, static_cast<double>(s.parameters) / 1e6)},
      {"tensor bytes", byte_text(s.tensor_bytes)},
      {"layers", fmt::format("{}", c.layers)},
      {"hidden", fmt::format("{}", c.hidden)},
      {"feed-forward", fmt::format("{}", c.ffn)},
      {"heads",
       fmt::format("{}, each {} wide ({} for keys and values)", c.heads, c.head_dim, c.kv_heads)},
      {"rotation", rope_text(c)},
      {"sliding window", windowed == 0 ? "none" : fmt::format("in {} layers", windowed)},
      {"positions", fmt::format("{}", c.max_positions)},
      {"vocabulary", fmt::format("{}", c.vocab)},
      {"output matrix", c.tied_head ? "the embedding" : "its own"},
      {"multiplications", fmt::format("{} per token", multiplications_per_row(s.program))},
  };
  const std::size_t added = s.tokenizer ? s.tokenizer->added_tokens().size() : 0;
  lines.emplace_back("tokenizer", s.tokenizer ? fmt::format("{} tokens, {} of them added",
                                                            s.tokenizer->size(), added)
                                              : "none");
  lines.emplace_back("stop ids", fmt::format("{}", fmt::join(s.stop_ids, " ")));
  lines.emplace_back("chat template",
                     s.files.chat_template ? byte_text(s.files.chat_template->size()) : "none");
  const Json& defaults = s.files.generation_config;
  lines.emplace_back("defaults", defaults.is_null() ? "none" : defaults.dump({.spaced = true}));
  return lines;
}

void print_memory(Output& out, const MemoryEstimate& memory) {
  out.line(fmt::format("memory for {} positions: weights {} in the files, {} decoded, cache {}",
                       memory.context, byte_text(memory.weights), byte_text(memory.decoded),
                       byte_text(memory.cache)));
}

void print_tensors(Output& out, const ModelSummary& summary) {
  if (summary.files.weights == nullptr) return out.line("no tensors");
  std::size_t width = 0;
  for (const auto& info : summary.files.weights->tensors())
    width = std::max(width, info.name.size());
  for (const TensorInfo& info : summary.files.weights->tensors()) {
    out.foreign(fmt::format("{:<{}}  {:<5} {}\n", info.name, width, dtype_name(info.dtype),
                            shape_text(info.shape)));
  }
}

void print_text(Output& out, const ModelSummary& summary, const InspectOptions& options,
                const MemoryEstimate& memory) {
  // One thing asked for alone can be piped on.
  if (options.show_template) {
    return out.foreign(summary.files.chat_template.value_or("") + "\n");
  }
  for (const auto& [label, value] : summary_lines(summary)) {
    out.foreign(fmt::format("{:<17}{}\n", label, value));
  }
  print_memory(out, memory);
  for (const std::string& note : summary.files.notes) out.foreign("note: " + note + "\n");
  if (options.tensors) {
    out.line("\ntensors:");
    print_tensors(out, summary);
  }
  if (options.program) {
    out.line("\nprogram:");
    out.foreign(program_text(summary.program));
  }
}

Json tensors_json(const ModelSummary& summary) {
  Json tensors = Json::array();
  if (summary.files.weights == nullptr) return tensors;
  for (const TensorInfo& info : summary.files.weights->tensors()) {
    Json shape = Json::array();
    for (const std::int64_t axis : info.shape) shape.push_back(axis);
    Json tensor = Json::object();
    tensor.set("name", info.name);
    tensor.set("dtype", dtype_name(info.dtype));
    tensor.set("shape", std::move(shape));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Json sizes_json(const ModelConfig& c) {
  Json json = Json::object();
  json.set("layers", c.layers);
  json.set("hidden", c.hidden);
  json.set("ffn", c.ffn);
  json.set("heads", c.heads);
  json.set("kv_heads", c.kv_heads);
  json.set("head_dim", c.head_dim);
  json.set("max_positions", c.max_positions);
  json.set("vocab", c.vocab);
  json.set("tied_head", c.tied_head);
  Json rope = Json::array();
  for (const bool rotated : c.layer_has_rope) rope.push_back(rotated);
  json.set("rope_type", c.rope.type);
  json.set("rope_theta", c.rope.theta);
  json.set("layer_has_rope", std::move(rope));
  Json windows = Json::array();
  for (const std::int64_t window : c.layer_window) windows.push_back(window);
  json.set("layer_window", std::move(windows));
  return json;
}

Json summary_json(const ModelSummary& s, const InspectOptions& options,
                  const MemoryEstimate& memory) {
  Json json = Json::object();
  json.set("path", s.files.path.string());
  json.set("format", s.files.format);
  json.set("architecture", s.config.architecture);
  json.set("parameters", s.parameters);
  json.set("tensor_bytes", s.tensor_bytes);
  json.set("sizes", sizes_json(s.config));
  json.set("multiplications_per_token", multiplications_per_row(s.program));
  json.set("tokenizer_size", s.tokenizer ? Json(s.tokenizer->size()) : Json());
  Json stops = Json::array();
  for (const TokenId id : s.stop_ids) stops.push_back(id);
  json.set("stop_ids", std::move(stops));
  json.set("generation_defaults", s.files.generation_config);
  Json needed = Json::object();
  needed.set("context", memory.context);
  needed.set("weights_bytes", memory.weights);
  needed.set("decoded_bytes", memory.decoded);
  needed.set("cache_bytes", memory.cache);
  json.set("memory", std::move(needed));
  json.set("config", s.files.config);
  if (options.tensors) json.set("tensors", tensors_json(s));
  if (options.program) json.set("program", program_text(s.program));
  if (options.show_template) {
    json.set("template", s.files.chat_template ? Json(*s.files.chat_template) : Json());
  }
  return json;
}

int run_inspect(CommandContext& context, const InspectOptions& options) {
  GlobalOptions globals = context.globals;
  if (!options.model.empty()) globals.model = options.model;
  const ModelSummary summary = summarize_model(chosen_model(globals), open_options(globals));
  const MemoryEstimate memory = estimate_memory(
      summary, options.context > 0 ? options.context : summary.config.max_positions);
  if (options.json) {
    context.out.line(summary_json(summary, options, memory).dump({.indent = 2}));
  } else {
    print_text(context.out, summary, options, memory);
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
      "Reads headers and small files only: fast for a model of any size. --template prints the "
      "template's source and nothing else.";
  command.examples = {"linnet inspect tiny", "linnet inspect tiny --tensors --program",
                      "linnet inspect model.gguf --context 8192", "linnet inspect tiny --json"};
  command.argument = Argument{.name = "MODEL",
                              .help = "as --model",
                              .names = {"tiny", "smollm2"},
                              .path_ending = ".gguf",
                              .is_path = true,
                              .set = to_path(options->model)};
  command.options = {
      {.name = "tensors",
       .help = "list the tensors with types and shapes",
       .set = to_flag(options->tensors)},
      {.name = "context",
       .value = "N",
       .help = "estimate memory for this many positions (default: all the model has)",
       .set = to_integer(options->context, {1, INT64_MAX})},
      {.name = "program",
       .help = "list the steps of the program",
       .set = to_flag(options->program)},
      {.name = "template",
       .help = "print the chat template",
       .set = to_flag(options->show_template)},
      {.name = "json", .help = "print a JSON record", .set = to_flag(options->json)},
  };
  command.run = [options](CommandContext& context) { return run_inspect(context, *options); };
  return command;
}

}  // namespace linnet
