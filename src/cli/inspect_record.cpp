#include <sstream>
#include <string>
#include <utility>

#include "cli/inspect_report.h"
#include "cli/program_cost.h"
#include "native/lowered.h"

namespace linnet {
namespace {

template <typename Items>
Json list(const Items& items) {
  Json json = Json::array();
  for (const auto& item : items) json.push_back(Json(item));
  return json;
}

Json optional_text(const std::optional<std::string>& text) { return text ? Json(*text) : Json(); }

Json tensors_json(const ModelSummary& summary) {
  Json tensors = Json::array();
  if (summary.files.weights == nullptr) return tensors;
  for (const TensorInfo& info : summary.files.weights->tensors()) {
    Json tensor = Json::object();
    tensor.set("name", info.name);
    tensor.set("dtype", type_name(info));
    tensor.set("shape", list(info.shape));
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
  json.set("rope_type", c.rope.type);
  json.set("rope_theta", c.rope.theta);
  Json rope = Json::array();
  for (const bool rotated : c.layer_has_rope) rope.push_back(rotated);
  json.set("layer_has_rope", std::move(rope));
  json.set("layer_window", list(c.layer_window));
  return json;
}

Json cost_json(const StepCost& cost) {
  Json json = Json::object();
  json.set("operations", cost.operations);
  json.set("weight_bytes", cost.weight_bytes);
  json.set("cache_bytes", cost.cache_bytes);
  return json;
}

// Its lines, or why there are none.
Json lowered_json(const Program& program) {
  const LoweringResult lowered = lower(program);
  Json json = Json::object();
  if (!lowered.reason.empty()) {
    json.set("reason", lowered.reason);
    return json;
  }
  json.set("buffers", lowered.program.buffers.size());
  json.set("slots", lowered.program.slots.size());
  Json steps = Json::array();
  std::istringstream lines(lowered_text(lowered.program, program));
  for (std::string line; std::getline(lines, line);) steps.push_back(line);
  json.set("steps", std::move(steps));
  return json;
}

Json program_json(const ModelSummary& s, const std::vector<StepCost>& costs) {
  Json steps = Json::array();
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const Step& step = s.program.steps[i];
    const auto name = [&](ValueId id) {
      return Json(s.program.values[static_cast<std::size_t>(id)].name);
    };
    Json json = cost_json(costs[i]);
    json.set("op", op_info(step.op).name);
    json.set("output", name(step.output));
    Json inputs = Json::array(), weights = Json::array();
    for (const ValueId id : step.inputs) inputs.push_back(name(id));
    for (const WeightId id : step.weights) {
      if (id != kNone) weights.push_back(s.program.weights[static_cast<std::size_t>(id)].name);
    }
    json.set("inputs", std::move(inputs));
    json.set("weights", std::move(weights));
    steps.push_back(std::move(json));
  }
  return steps;
}

Json memory_json(const ModelSummary& s, const MemoryEstimate& memory) {
  Json json = Json::object();
  json.set("context", memory.context);
  json.set("weights_bytes", memory.weights);
  json.set("lane", memory.held.lane);
  json.set("held_as", memory.held.format);
  json.set("held_bytes", memory.held.weights);
  json.set("cache_bytes", memory.cache);
  json.set("total_bytes", memory.total());
  Json types = Json::object();
  for (const auto& [type, bytes] : s.bytes_by_type) types.set(type, bytes);
  json.set("weights_by_dtype", std::move(types));
  return json;
}

}  // namespace

Json inspection_record(const ModelSummary& s, const InspectParts& parts,
                       const MemoryEstimate& memory) {
  const std::vector<StepCost> costs = program_costs(s.program, s.files, s.dtype, memory.context);
  Json json = Json::object();
  json.set("path", s.files.path.string());
  json.set("format", s.files.format);
  json.set("license", optional_text(s.files.license));
  json.set("architecture", s.config.architecture);
  json.set("task", task_head_name(s.config.task_head));
  json.set("parameters", s.parameters);
  json.set("tensor_bytes", s.tensor_bytes);
  json.set("sizes", sizes_json(s.config));
  json.set("multiplications_per_token", multiplications_per_row(s.program));
  json.set("one_token", cost_json(total_cost(costs)));
  json.set("tokenizer_size", s.tokenizer ? Json(s.tokenizer->size()) : Json());
  json.set("stop_ids", list(s.stop_ids));
  json.set("generation_defaults", s.files.generation_config);
  json.set("memory", memory_json(s, memory));
  json.set("unknown_keys", list(s.config.unknown_keys));
  Json notes = list(s.files.notes);
  for (const std::string& note : s.config.notes) notes.push_back(note);
  json.set("notes", std::move(notes));
  json.set("config", s.files.config);
  if (parts.tensors) json.set("tensors", tensors_json(s));
  if (parts.program) json.set("program", program_json(s, costs));
  if (parts.lowered) json.set("lowered", lowered_json(s.program));
  json.set("has_template", s.files.chat_template.has_value());
  if (parts.show_template) json.set("template", optional_text(s.files.chat_template));
  return json;
}

}  // namespace linnet
