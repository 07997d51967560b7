#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cli/inspect_report.h"
#include "cli/machine.h"
#include "cli/program_cost.h"
#include "native/lowered.h"

namespace linnet {
namespace {

using Line = std::pair<std::string, std::string>;  // label and value

std::string rope_text(const ModelConfig& config) {
  const auto rotated = std::count(config.layer_has_rope.begin(), config.layer_has_rope.end(), true);
  std::string text = fmt::format("{}, theta {}, in {} of {} layers", config.rope.type,
                                 config.rope.theta, rotated, config.layers);
  std::vector<std::int64_t> without;
  for (std::size_t i = 0; i < config.layer_has_rope.size(); ++i) {
    if (!config.layer_has_rope[i]) without.push_back(static_cast<std::int64_t>(i));
  }
  if (!without.empty()) text += fmt::format(" (not in {})", fmt::join(without, " "));
  return text;
}

// "bf16 12 MB, f32 8 kB", largest first.
std::string types_text(const ModelSummary& s) {
  std::vector<std::pair<std::uint64_t, std::string>> types;
  for (const auto& [type, bytes] : s.bytes_by_type) types.emplace_back(bytes, type);
  std::sort(types.rbegin(), types.rend());
  std::string text;
  for (const auto& [bytes, type] : types) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", type, byte_text(bytes));
  }
  return text;
}

std::string tensors_text(const ModelSummary& s) {
  if (s.tensors == 0) {
    return fmt::format("no files; {} would be {}", dtype_name(s.dtype), byte_text(s.tensor_bytes));
  }
  return fmt::format("{} tensors: {}", s.tensors, types_text(s));
}

std::vector<Line> config_lines(const ModelSummary& s) {
  const ModelConfig& c = s.config;
  const auto windowed =
      std::count_if(c.layer_window.begin(), c.layer_window.end(), [](auto w) { return w > 0; });
  return {
      {"path", s.tensors == 0 ? s.files.config_file : s.files.path.string()},
      {"format", s.tensors == 0 ? "a config alone" : s.files.format},
      {"licence", s.files.license.value_or("not stated")},
      {"architecture", c.architecture},
      {"task", std::string(task_head_name(c.task_head))},
      {"parameters",
       fmt::format("{} ({:.4g} million)", s.parameters, static_cast<double>(s.parameters) / 1e6)},
      {"weights", tensors_text(s)},
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
      {"unused keys",
       c.unknown_keys.empty() ? "none" : fmt::format("{}", fmt::join(c.unknown_keys, " "))},
  };
}

std::vector<Line> text_lines(const ModelSummary& s) {
  const std::size_t added = s.tokenizer ? s.tokenizer->added_tokens().size() : 0;
  const Json& defaults = s.files.generation_config;
  return {
      {"tokenizer", s.tokenizer
                        ? fmt::format("{} tokens, {} of them added", s.tokenizer->size(), added)
                        : "none"},
      {"stop ids", s.stop_ids.empty() ? "none" : fmt::format("{}", fmt::join(s.stop_ids, " "))},
      {"chat template", s.files.chat_template ? byte_text(s.files.chat_template->size()) : "none"},
      {"defaults", defaults.is_null() ? "none" : defaults.dump({.spaced = true})},
  };
}

std::string operations_text(std::uint64_t count) {
  const auto number = static_cast<double>(count);
  return number < 1e9 ? fmt::format("{:.4g} M", number / 1e6)
                      : fmt::format("{:.4g} G", number / 1e9);
}

std::vector<Line> memory_lines(const ModelSummary& s, const MemoryEstimate& memory) {
  const StepCost cost = total_cost(program_costs(s.program, s.files, s.dtype, memory.context));
  std::string others;
  for (const DType dtype : {DType::f32, DType::bf16, DType::q8_0, DType::q4_0}) {
    others += fmt::format("{}{} {}", others.empty() ? "" : ", ", dtype_name(dtype),
                          byte_text(bytes_as(s, dtype)));
  }
  return {
      {"weights",
       fmt::format("{}{}", byte_text(memory.weights),
                   memory.held.weights > 0
                       ? fmt::format(", held as {} by the {} lane: {}", memory.held.format,
                                     memory.held.lane, byte_text(memory.held.weights))
                       : "")},
      {"cache", fmt::format("{} of keys and values", byte_text(memory.cache))},
      {"total", byte_text(memory.total())},
      {"other types", others},
      {"one more token", fmt::format("{} operations; reads {} of weights and {} of cache",
                                     operations_text(cost.operations), byte_text(cost.weight_bytes),
                                     byte_text(cost.cache_bytes))},
  };
}

void print_lines(Output& out, const std::vector<Line>& lines) {
  for (const auto& [label, value] : lines) out.foreign(fmt::format("{:<17}{}\n", label, value));
}

void print_tensors(Output& out, const ModelSummary& summary) {
  if (summary.files.weights == nullptr) return out.line("no tensors");
  std::size_t width = 0;
  for (const auto& info : summary.files.weights->tensors())
    width = std::max(width, info.name.size());
  for (const TensorInfo& info : summary.files.weights->tensors()) {
    out.foreign(fmt::format("{:<{}}  {:<5} {}\n", info.name, width, type_name(info),
                            shape_text(info.shape)));
  }
}

// The lines of program_text with what each step costs before them.
void print_program(Output& out, const ModelSummary& s, std::int64_t context) {
  const std::vector<StepCost> costs = program_costs(s.program, s.files, s.dtype, context);
  const std::string text = program_text(s.program);
  out.line("  operations    weights      cache  step");
  std::size_t begin = 0;
  for (const StepCost& cost : costs) {
    const std::size_t end = text.find('\n', begin);
    out.foreign(fmt::format("{:>12} {:>10} {:>10}  {}\n", cost.operations, cost.weight_bytes,
                            cost.cache_bytes, text.substr(begin, end - begin)));
    begin = end == std::string::npos ? text.size() : end + 1;
  }
}

}  // namespace

void print_inspection(Output& out, const ModelSummary& summary, const InspectParts& parts,
                      const MemoryEstimate& memory) {
  if (parts.show_template) {
    return out.foreign(summary.files.chat_template.value_or("") + "\n");
  }
  print_lines(out, config_lines(summary));
  print_lines(out, text_lines(summary));
  out.line(fmt::format("\nwith {} positions:", memory.context));
  print_lines(out, memory_lines(summary, memory));
  for (const auto* notes : {&summary.files.notes, &summary.config.notes}) {
    for (const std::string& note : *notes) out.foreign("note: " + note + "\n");
  }
  if (parts.tensors) {
    out.line("\ntensors:");
    print_tensors(out, summary);
  }
  if (parts.program) {
    out.line(fmt::format("\nprogram, for one token with {} positions (weights and cache in bytes):",
                         memory.context));
    print_program(out, summary, memory.context);
  }
  if (parts.lowered) {
    const LoweringResult lowered = lower(summary.program);
    out.line("\nlowered for the native lane:");
    out.foreign(lowered.reason.empty() ? lowered_text(lowered.program, summary.program)
                                       : "not possible: " + lowered.reason + "\n");
  }
}

}  // namespace linnet
