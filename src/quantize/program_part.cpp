#include "quantize/program_part.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/error.h"

namespace linnet {
namespace {

class Copying {
 public:
  Copying(const Program& whole, ValueId input) : whole_(whole) {
    out_.vocab = 1;
    out_.hidden = whole.hidden;
    out_.layers = 1;
    out_.heads = whole.heads;
    out_.kv_width = whole.kv_width;
    out_.ropes = whole.ropes;
    part_.weights.push_back(kNone);
    Step embed{.op = Op::embed};
    embed.weights[0] = out_.add_weight("no table", {1, whole.hidden});
    embed.output = value(input);
    out_.steps.push_back(embed);
  }

  void add(Step step) {
    for (ValueId& id : step.inputs) id = value(id);
    step.output = value(step.output);
    for (WeightId& id : step.weights) id = id == kNone ? kNone : weight(id);
    step.layer = 0;
    out_.steps.push_back(std::move(step));
  }

  ProgramPart finish(ValueId output) {
    out_.output = value(output);
    check_program(out_);
    part_.program = std::make_shared<const Program>(std::move(out_));
    return std::move(part_);
  }

 private:
  ValueId value(ValueId id) {
    const auto [entry, is_new] = values_.try_emplace(id, kNone);
    if (is_new) {
      const Value& from = whole_.values[static_cast<std::size_t>(id)];
      entry->second = out_.add_value(from.name, from.width, from.rows);
      part_.values.push_back(id);
    }
    return entry->second;
  }
  WeightId weight(WeightId id) {
    const auto [entry, is_new] = weights_.try_emplace(id, kNone);
    if (is_new) {
      const WeightSlot& slot = whole_.weights[static_cast<std::size_t>(id)];
      entry->second = out_.add_weight(slot.name, slot.shape);
      part_.weights.push_back(id);
    }
    return entry->second;
  }

  const Program& whole_;
  Program out_;
  ProgramPart part_;
  std::unordered_map<ValueId, ValueId> values_;
  std::unordered_map<WeightId, WeightId> weights_;
};

const Step* maker_of(const Program& program, ValueId id) {
  for (const Step& step : program.steps) {
    if (step.output == id) return &step;
  }
  return nullptr;
}

bool only_linears_read(const Program& program, ValueId id) {
  return std::all_of(program.steps.begin(), program.steps.end(), [&](const Step& step) {
    return step.op == Op::linear ||
           std::find(step.inputs.begin(), step.inputs.end(), id) == step.inputs.end();
  });
}

std::size_t readers_of(const Program& program, ValueId id) {
  std::size_t count = 0;
  for (const Step& step : program.steps) {
    count += static_cast<std::size_t>(std::count(step.inputs.begin(), step.inputs.end(), id));
  }
  return count;
}

// Where the inverse factors of a group's input go.
void find_fold(const Program& program, LinearGroup& group) {
  if (!only_linears_read(program, group.input)) return;
  const Step* maker = maker_of(program, group.input);
  if (maker != nullptr && maker->op == Op::select_rows &&
      readers_of(program, maker->inputs[0]) == 1) {
    maker = maker_of(program, maker->inputs[0]);
  }
  if (maker == nullptr) return;
  if (maker->op == Op::rms_norm) group.scale = maker->weights[0];
  if (maker->op != Op::gated_activation) return;
  const Step* up = maker_of(program, maker->inputs[1]);
  if (up == nullptr || up->op != Op::linear || readers_of(program, maker->inputs[1]) != 1) return;
  group.rows = up->weights[0];
  group.row_bias = up->weights[1];
}

}  // namespace

ProgramPart layer_part(const Program& whole, std::int32_t layer) {
  const auto index = static_cast<std::size_t>(layer);
  Copying copying(whole, whole.hidden_states[index]);
  for (const Step& step : whole.steps) {
    if (step.layer == layer) copying.add(step);
  }
  return copying.finish(whole.hidden_states[index + 1]);
}

ProgramPart tail_part(const Program& whole) {
  const ValueId input = whole.hidden_states[static_cast<std::size_t>(whole.layers)];
  Copying copying(whole, input);
  ValueId last = input;
  for (const Step& step : whole.steps) {
    if (step.layer != kNone || step.op == Op::embed || step.op == Op::linear) continue;
    copying.add(step);
    last = step.output;
  }
  return copying.finish(last);
}

std::vector<LinearGroup> linear_groups(const Program& whole, std::int32_t layer) {
  std::vector<LinearGroup> groups;
  for (const Step& step : whole.steps) {
    if (step.op != Op::linear || step.layer != layer) continue;
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const LinearGroup& group) {
      return group.input == step.inputs[0];
    });
    if (found != groups.end()) {
      found->matrices.push_back(step.weights[0]);
      continue;
    }
    LinearGroup group;
    group.input = step.inputs[0];
    group.matrices.push_back(step.weights[0]);
    find_fold(whole, group);
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace linnet
