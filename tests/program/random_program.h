// A small random decoder for tests: two layers, one with and one without rotation, grouped queries.
#pragma once

#include <cmath>
#include <memory>

#include "base/random.h"
#include "program/reference_lane.h"

namespace linnet::testing {

inline constexpr std::int64_t kVocab = 50, kHidden = 24, kHeads = 6, kKvHeads = 2, kDim = 10,
                              kFfn = 37;

class RandomProgram {
 public:
  explicit RandomProgram(bool rotate_first = true, bool rotate_second = false,
                         std::int64_t window = 0) {
    Program& p = program_;
    p.vocab = kVocab, p.hidden = kHidden, p.layers = 2, p.heads = kHeads,
    p.kv_width = kKvHeads * kDim;
    RopeTable table;
    for (int i = 0; i < kDim / 2; ++i)
      table.inverse_frequency.push_back(std::pow(100.0, -2.0 * i / kDim));
    p.ropes.push_back(table);
    const WeightId embedding = p.add_weight("embedding", {kVocab, kHidden});
    ValueId x = emit({.op = Op::embed, .weights = {embedding, kNone}}, kHidden);
    for (layer_ = 0; layer_ < 2; ++layer_) {
      const bool rotate = layer_ == 0 ? rotate_first : rotate_second;
      const ValueId normed = norm(x);
      ValueId q = linear(normed, kHeads * kDim, true), k = linear(normed, kKvHeads * kDim, false);
      const ValueId v = linear(normed, kKvHeads * kDim, false);
      if (rotate) q = rope(q, kHeads), k = rope(k, kKvHeads);
      Step step{.op = Op::attention, .layer = layer_, .inputs = {q, k, v}};
      step.heads = kHeads, step.kv_heads = kKvHeads, step.head_dim = kDim, step.scale = 0.3f,
      step.window = window;
      x = emit({.op = Op::add, .inputs = {x, linear(emit(step, kHeads * kDim), kHidden, false)}},
               kHidden);
      const ValueId ffn = norm(x);
      const ValueId gate = linear(ffn, kFfn, false), up = linear(ffn, kFfn, false);
      const ValueId gated = emit({.op = Op::gated_activation, .inputs = {gate, up}}, kFfn);
      x = emit({.op = Op::add, .inputs = {x, linear(gated, kHidden, false)}}, kHidden);
    }
    Step select{.op = Op::select_rows, .inputs = {x}};
    x = emit(select, kHidden, RowCount::selected);
    p.output = emit({.op = Op::linear, .inputs = {x}, .weights = {embedding, kNone}}, kVocab,
                    RowCount::selected);
  }

  std::shared_ptr<const Program> program() const {
    return std::make_shared<const Program>(program_);
  }

  std::vector<Tensor> weights() const {
    RandomStream stream(7);
    std::vector<Tensor> tensors;
    for (const WeightSlot& slot : program_.weights) {
      std::vector<float> values(static_cast<std::size_t>(element_count(slot.shape, slot.name)));
      for (float& value : values) value = 0.6f * (stream.next_uniform() - 0.4f);
      tensors.push_back(Tensor::from_values(slot.shape, values));
    }
    return tensors;
  }

  ReferenceLane lane(int threads = 1) const {
    return ReferenceLane(program(), weights(), std::make_shared<ThreadPool>(threads));
  }

 private:
  ValueId norm(ValueId x) {
    Step step{.op = Op::rms_norm, .inputs = {x}};
    step.weights[0] = program_.add_weight("scale", {kHidden});
    step.epsilon = 1e-5f;
    return emit(step, kHidden);
  }
  ValueId linear(ValueId x, std::int64_t width, bool bias) {
    Step step{.op = Op::linear, .inputs = {x}};
    step.weights[0] = program_.add_weight("matrix", {width, program_.values[x].width});
    if (bias) step.weights[1] = program_.add_weight("bias", {width});
    return emit(step, width);
  }
  ValueId rope(ValueId x, std::int64_t heads) {
    Step step{.op = Op::rope, .inputs = {x}};
    step.heads = heads, step.head_dim = kDim;
    return emit(step, heads * kDim);
  }
  ValueId emit(Step step, std::int64_t width, RowCount rows = RowCount::all) {
    step.output = program_.add_value("v" + std::to_string(program_.values.size()), width, rows);
    program_.steps.push_back(step);
    return step.output;
  }

  Program program_;
  std::int32_t layer_ = 0;
};

}  // namespace linnet::testing
