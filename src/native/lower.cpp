#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "native/lowered.h"
#include "native/memory_plan.h"

namespace linnet {
namespace {

// A step that no rule takes; caught in lower().
struct NotLowered {
  std::string reason;
};

class Lowering {
 public:
  explicit Lowering(const Program& program)
      : program_(program),
        places_(program.values.size()),
        norms_(program.values.size()),
        ropes_(program.values.size()),
        readers_(program.values.size()),
        is_done_(program.steps.size(), false) {
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      for (const ValueId id : program.steps[i].inputs) readers_[at(id)].push_back(int_of(i));
    }
  }

  LoweredProgram run() {
    for (index_ = 0; index_ < program_.steps.size(); ++index_) {
      if (!is_done_[index_]) lower_step(program_.steps[index_]);
    }
    out_.output = places_[at(program_.output)];
    plan_memory(out_);
    return std::move(out_);
  }

 private:
  // The norm whose result a value is, and what it was taken of: computed where it is used.
  struct Deferred {
    ValueId of = kNone;
    Norm norm;
  };
  struct Rotated {
    ValueId of = kNone;
    std::int32_t rope = kNone;
  };

  static std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }
  static std::int32_t int_of(std::size_t index) { return static_cast<std::int32_t>(index); }

  const Value& value_of(ValueId id) const { return program_.values[at(id)]; }
  const Step& step_at(std::int32_t index) const { return program_.steps[at(index)]; }

  Place new_place(ValueId id) { return new_buffer(value_of(id).rows, value_of(id).width); }
  Place new_buffer(RowCount rows, std::int64_t width) {
    out_.buffers.push_back({rows, width, kNone});
    return {int_of(out_.buffers.size() - 1), 0, width};
  }
  Place place(ValueId id) const { return places_[at(id)]; }

  NativeStep& emit(NativeOp op, const Step& step, Place output) {
    NativeStep native;
    native.op = op;
    native.layer = step.layer;
    native.output = output;
    native.activation = step.activation;
    native.hidden = hidden_index(step.output);
    out_.steps.push_back(native);
    return out_.steps.back();
  }

  // kNone for a value that is not on the residual stream.
  std::int32_t hidden_index(ValueId id) const {
    const std::vector<ValueId>& states = program_.hidden_states;
    const auto found = std::find(states.begin(), states.end(), id);
    return found == states.end() ? kNone : int_of(static_cast<std::size_t>(found - states.begin()));
  }

  void lower_step(const Step& step) {
    switch (step.op) {
      case Op::embed:
        out_.table = step.weights[0];
        out_.table_factors = step.weights[1];
        places_[at(step.output)] = new_place(step.output);
        emit(NativeOp::embed, step, place(step.output));
        return;
      case Op::rms_norm:
        return rms_norm(step);
      case Op::linear:
        return linear(step);
      case Op::rope:
        return rope(step);
      case Op::attention:
        return attention(step);
      case Op::gated_activation:
        return two_inputs(NativeOp::gated_activation, step);
      case Op::add:
        return two_inputs(NativeOp::add, step);
      case Op::select_rows:
        return select_rows(step);
    }
    throw NotLowered{"no native form of this kind of step"};
  }

  bool read_only_by(ValueId id, Op op) const {
    if (id == program_.output) return false;
    return std::all_of(readers_[at(id)].begin(), readers_[at(id)].end(),
                       [&](std::int32_t reader) { return step_at(reader).op == op; });
  }

  void rms_norm(const Step& step) {
    const Norm norm{step.weights[0], step.epsilon};
    // A selection of normed rows is the norm of selected rows.
    const bool is_selected =
        read_only_by(step.output, Op::select_rows) && readers_[at(step.output)].size() == 1;
    if (is_selected || read_only_by(step.output, Op::linear)) {
      norms_[at(step.output)] = {step.inputs[0], norm};
      return;
    }
    places_[at(step.output)] = new_place(step.output);
    emit_norm(step, step.inputs[0], norm, place(step.output));
  }

  void emit_norm(const Step& step, ValueId input, const Norm& norm, Place output) {
    const Place from = place(input);
    NativeStep& native = emit(NativeOp::rms_norm, step, output);
    native.input = from;
    native.norm = norm;
  }

  void select_rows(const Step& step) {
    const Deferred deferred = norms_[at(step.inputs[0])];
    const ValueId source = deferred.of != kNone ? deferred.of : step.inputs[0];
    const Place selected = new_place(step.output);
    emit(NativeOp::select_rows, step, selected).input = place(source);
    places_[at(step.output)] = selected;
    if (deferred.of == kNone) return;
    if (read_only_by(step.output, Op::linear)) {
      norms_[at(step.output)] = {step.output, deferred.norm};
    } else {
      emit_norm(step, step.output, deferred.norm, selected);
    }
  }

  // All linears that read the same value, as one.
  void linear(const Step& first) {
    const ValueId input = first.inputs[0];
    std::vector<std::int32_t> group;
    for (const std::int32_t reader : readers_[at(input)]) {
      if (step_at(reader).op == Op::linear) group.push_back(reader);
    }
    MatrixPlan matrix;
    matrix.inputs = value_of(input).width;
    std::int64_t width = 0;
    for (const std::int32_t index : group) {
      const Step& step = step_at(index);
      is_done_[at(index)] = true;
      matrix.weights.push_back(step.weights[0]);
      matrix.biases.push_back(step.weights[1]);
      width += value_of(step.output).width;
    }
    const std::int32_t gated = gate_of(group);
    const std::int32_t residual = group.size() == 1 ? residual_of(first) : kNone;
    matrix.is_gate = gated != kNone;
    matrix.is_table = group.size() == 1 && first.weights[0] == out_.table;
    matrix.is_head = matrix.is_table || first.output == program_.output;

    Place output;
    Epilogue epilogue = Epilogue::store;
    if (gated != kNone) {
      epilogue = Epilogue::gate;
      output = new_place(step_at(gated).output);
      is_done_[at(gated)] = true;
      places_[at(step_at(gated).output)] = output;
    } else if (residual != kNone) {
      epilogue = Epilogue::add;
      const Step& add = step_at(residual);
      output = place(add.inputs[add.inputs[0] == first.output ? 1 : 0]);
      is_done_[at(residual)] = true;
      places_[at(add.output)] = output;
    } else {
      output = new_buffer(value_of(first.output).rows, width);
      std::int64_t offset = 0;
      for (const std::int32_t index : group) {
        const ValueId id = step_at(index).output;
        places_[at(id)] = {output.buffer, offset, value_of(id).width};
        offset += value_of(id).width;
      }
    }
    emit_linear(first, std::move(matrix), epilogue, output,
                gated != kNone ? step_at(gated).activation : Activation::silu);
    if (residual != kNone) out_.steps.back().hidden = hidden_index(step_at(residual).output);
  }

  void emit_linear(const Step& step, MatrixPlan matrix, Epilogue epilogue, Place output,
                   Activation activation) {
    const Deferred deferred = norms_[at(step.inputs[0])];
    const Place input = place(deferred.of != kNone ? deferred.of : step.inputs[0]);
    if (matrix.is_table) out_.table_matrix = int_of(out_.matrices.size());
    out_.matrices.push_back(std::move(matrix));
    NativeStep& native = emit(NativeOp::linear, step, output);
    native.input = input;
    native.matrix = int_of(out_.matrices.size() - 1);
    native.epilogue = epilogue;
    native.activation = activation;
    if (deferred.of != kNone) native.norm = deferred.norm;
  }

  // The gated activation that alone reads both linears of a group, gate first.
  std::int32_t gate_of(const std::vector<std::int32_t>& group) const {
    if (group.size() != 2) return kNone;
    const ValueId gate = step_at(group[0]).output, up = step_at(group[1]).output;
    const std::vector<std::int32_t>& readers = readers_[at(gate)];
    if (readers.size() != 1 || readers_[at(up)] != readers) return kNone;
    if (gate == program_.output || up == program_.output) return kNone;
    const Step& step = step_at(readers[0]);
    const bool is_gate =
        step.op == Op::gated_activation && step.inputs[0] == gate && step.inputs[1] == up;
    return is_gate ? readers[0] : kNone;
  }

  // The addition that alone reads the linear's result, when nothing else needs its other operand
  // afterwards: then the result is added where that operand lies.
  std::int32_t residual_of(const Step& linear) const {
    const std::vector<std::int32_t>& readers = readers_[at(linear.output)];
    if (readers.size() != 1 || linear.output == program_.output) return kNone;
    const Step& add = step_at(readers[0]);
    if (add.op != Op::add || add.inputs[0] == add.inputs[1]) return kNone;
    const ValueId other = add.inputs[add.inputs[0] == linear.output ? 1 : 0];
    if (other == program_.output || place(other).buffer == kNone) return kNone;
    // The sum is made where the linear stands, so everyone else must have read by then.
    for (const std::int32_t reader : readers_[at(other)]) {
      if (reader != readers[0] && last_read(reader) >= int_of(index_)) return kNone;
    }
    return readers[0];
  }

  // The last step at which a reader looks at its inputs: folded steps do so where they are used.
  std::int32_t last_read(std::int32_t reader) const {
    const Step& step = step_at(reader);
    std::int32_t last = reader;
    if (step.op == Op::rms_norm || step.op == Op::rope) {
      for (const std::int32_t next : readers_[at(step.output)]) {
        last = std::max(last, last_read(next));
      }
    }
    return last;
  }

  void rope(const Step& step) {
    if (!read_only_by(step.output, Op::attention)) {
      throw NotLowered{"its result is used outside of an attention"};
    }
    ropes_[at(step.output)] = {step.inputs[0], step.rope};
  }

  void attention(const Step& step) {
    const Rotated query = ropes_[at(step.inputs[0])], key = ropes_[at(step.inputs[1])];
    if (query.rope != key.rope) throw NotLowered{"query and key are rotated differently"};
    NativeStep native;
    native.op = NativeOp::attention;
    native.layer = step.layer;
    native.query = place(query.of != kNone ? query.of : step.inputs[0]);
    native.key = place(key.of != kNone ? key.of : step.inputs[1]);
    native.value = place(step.inputs[2]);
    native.rope = query.rope;
    native.heads = step.heads;
    native.kv_heads = step.kv_heads;
    native.head_dim = step.head_dim;
    native.scale = step.scale;
    native.window = step.window;
    native.output = places_[at(step.output)] = new_place(step.output);
    out_.steps.push_back(native);
  }

  void two_inputs(NativeOp op, const Step& step) {
    for (const ValueId id : step.inputs) {
      if (place(id).buffer == kNone) throw NotLowered{"an input was folded away"};
    }
    places_[at(step.output)] = new_place(step.output);
    NativeStep& native = emit(op, step, place(step.output));
    native.input = place(step.inputs[0]);
    native.second = place(step.inputs[1]);
  }

 public:
  // Where the lowering stands.
  std::size_t index() const { return std::min(index_, program_.steps.size() - 1); }
  const Step& step() const { return program_.steps[index()]; }

 private:
  const Program& program_;
  LoweredProgram out_;
  std::size_t index_ = 0;
  std::vector<Place> places_;
  std::vector<Deferred> norms_;
  std::vector<Rotated> ropes_;
  std::vector<std::vector<std::int32_t>> readers_;  // per value: the steps that read it
  std::vector<bool> is_done_;                       // per step: folded into an earlier one
};

std::string place_text(const Place& place) {
  return fmt::format("b{}[{}..{})", place.buffer, place.offset, place.offset + place.width);
}

std::string matrix_text(const MatrixPlan& matrix, const Program& program) {
  std::string text;
  for (const WeightId id : matrix.weights) {
    text += (text.empty() ? "" : " | ") + program.weights[static_cast<std::size_t>(id)].name;
  }
  return text;
}

}  // namespace

std::string_view native_op_name(NativeOp op) {
  switch (op) {
    case NativeOp::embed:
      return "embed";
    case NativeOp::linear:
      return "linear";
    case NativeOp::attention:
      return "attention";
    case NativeOp::rms_norm:
      return "rms_norm";
    case NativeOp::add:
      return "add";
    case NativeOp::gated_activation:
      return "gated_activation";
    case NativeOp::select_rows:
      return "select_rows";
  }
  return "";
}

LoweringResult lower(const Program& program) {
  Lowering lowering(program);
  try {
    return {lowering.run(), "", ""};
  } catch (const NotLowered& fault) {
    const std::string_view key = op_info(lowering.step().op).name;
    return {
        {}, fmt::format("step {} ({}): {}", lowering.index(), key, fault.reason), std::string(key)};
  }
}

std::string lowered_text(const LoweredProgram& lowered, const Program& program) {
  std::string text;
  for (std::size_t i = 0; i < lowered.steps.size(); ++i) {
    const NativeStep& step = lowered.steps[i];
    text += fmt::format("{:4} {:<16} {}", i, native_op_name(step.op), place_text(step.output));
    if (step.epilogue == Epilogue::add) text += " +";
    text += " <-";
    for (const Place& place : {step.input, step.second, step.query, step.key, step.value}) {
      if (place.buffer != kNone) text += " " + place_text(place);
    }
    if (step.norm && step.op == NativeOp::linear) text += " normed";
    if (step.rope != kNone) text += " rotated";
    if (step.window > 0) text += fmt::format(" window {}", step.window);
    if (step.matrix != kNone) {
      const MatrixPlan& matrix = lowered.matrices[static_cast<std::size_t>(step.matrix)];
      text += " x " + matrix_text(matrix, program) + (matrix.is_gate ? " gated" : "");
    }
    text += "\n";
  }
  return text;
}

}  // namespace linnet
