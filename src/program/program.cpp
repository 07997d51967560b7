#include "program/program.h"

#include <fmt/core.h>

#include "base/error.h"

namespace linnet {
namespace {

// In the order of Op.
constexpr OpInfo kOps[] = {
    {Op::embed, "embed", 0, 2, true},
    {Op::rms_norm, "rms_norm", 1, 1, false},
    {Op::linear, "linear", 1, 2, true},
    {Op::rope, "rope", 1, 0, false},
    {Op::attention, "attention", 3, 0, false},
    {Op::gated_activation, "gated_activation", 2, 0, false},
    {Op::add, "add", 2, 0, false},
    {Op::select_rows, "select_rows", 1, 0, false},
};

struct Checker {
  const Program& program;
  const Step& step;

  const Value& input(std::size_t i) const { return value(step.inputs[i]); }
  const Value& output() const { return value(step.output); }
  const Value& value(ValueId id) const { return program.values[static_cast<std::size_t>(id)]; }
  const Shape& weight(std::size_t i) const {
    return program.weights[static_cast<std::size_t>(step.weights[i])].shape;
  }
  void require(bool condition, std::string_view what) const {
    LINNET_CHECK(condition,
                 fmt::format("step {} -> {}: {}", op_info(step.op).name, output().name, what));
  }

  void check_shapes() const {
    switch (step.op) {
      case Op::embed:
        require(weight(0) == Shape{program.vocab, output().width}, "table does not fit");
        if (step.weights[1] != kNone)
          require(weight(1) == Shape{output().width}, "factors do not fit");
        return;
      case Op::rms_norm:
        require(weight(0) == Shape{input(0).width}, "scale does not fit");
        return require_like_input();
      case Op::linear:
        require(weight(0) == Shape{output().width, input(0).width}, "matrix does not fit");
        if (step.weights[1] != kNone)
          require(weight(1) == Shape{output().width}, "bias does not fit");
        return;
      case Op::rope:
        require(input(0).width == step.heads * step.head_dim, "heads do not fit");
        require(table().inverse_frequency.size() == static_cast<std::size_t>(step.head_dim / 2),
                "rotation does not fit");
        return require_like_input();
      case Op::attention:
        require(input(0).width == step.heads * step.head_dim, "query heads do not fit");
        require(input(1).width == program.kv_width && input(2).width == program.kv_width,
                "key and value width differ from the cache's");
        require(program.kv_width == step.kv_heads * step.head_dim, "kv heads do not fit");
        require(step.heads % step.kv_heads == 0, "heads are no multiple of kv heads");
        require(step.layer >= 0 && step.layer < program.layers, "no such layer in the cache");
        return require_like_input();
      case Op::gated_activation:
      case Op::add:
        require(input(0).width == input(1).width, "widths differ");
        return require_like_input();
      case Op::select_rows:
        require(output().rows == RowCount::selected, "output must have the selected rows");
        require(output().width == input(0).width, "widths differ");
        return;
    }
  }

  const RopeTable& table() const {
    require(step.rope >= 0 && static_cast<std::size_t>(step.rope) < program.ropes.size(),
            "no table");
    return program.ropes[static_cast<std::size_t>(step.rope)];
  }
  void require_like_input() const {
    require(output().width == input(0).width, "output is not as wide as the input");
  }
};

bool in_range(std::int32_t id, std::size_t size) {
  return id >= 0 && static_cast<std::size_t>(id) < size;
}

void check_weights(const Program& program, const Step& step, const OpInfo& info) {
  for (int i = 0; i < 2; ++i) {
    const WeightId id = step.weights[static_cast<std::size_t>(i)];
    const bool may_lack = i >= info.weights || (info.optional_weight && i == info.weights - 1);
    LINNET_CHECK(id == kNone ? may_lack : i < info.weights && in_range(id, program.weights.size()),
                 std::string(info.name));
  }
}

}  // namespace

const OpInfo& op_info(Op op) { return kOps[static_cast<std::size_t>(op)]; }

ValueId Program::add_value(std::string name, std::int64_t width, RowCount rows) {
  values.push_back({std::move(name), rows, width});
  return static_cast<ValueId>(values.size()) - 1;
}

WeightId Program::add_weight(std::string name, Shape shape) {
  weights.push_back({std::move(name), std::move(shape)});
  return static_cast<WeightId>(weights.size()) - 1;
}

void check_program(const Program& program) {
  std::vector<bool> written(program.values.size(), false);
  for (const Step& step : program.steps) {
    const OpInfo& info = op_info(step.op);
    LINNET_CHECK(step.inputs.size() == static_cast<std::size_t>(info.inputs),
                 std::string(info.name));
    for (const ValueId id : step.inputs) {
      LINNET_CHECK(in_range(id, written.size()) && written[static_cast<std::size_t>(id)],
                   fmt::format("{} reads a value that nothing wrote", info.name));
    }
    LINNET_CHECK(
        in_range(step.output, written.size()) && !written[static_cast<std::size_t>(step.output)],
        fmt::format("{} writes a value twice, or none", info.name));
    check_weights(program, step, info);
    Checker{program, step}.check_shapes();
    written[static_cast<std::size_t>(step.output)] = true;
  }
  LINNET_CHECK(in_range(program.output, written.size()) &&
               written[static_cast<std::size_t>(program.output)]);
}

std::string program_text(const Program& program) {
  std::string text;
  const auto& values = program.values;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    const Value& output = values[static_cast<std::size_t>(step.output)];
    text += fmt::format("{:4}  {:<16} {} [{}, {}] <-", i, op_info(step.op).name, output.name,
                        output.rows == RowCount::all ? "rows" : "selected", output.width);
    for (const ValueId id : step.inputs) text += ' ' + values[static_cast<std::size_t>(id)].name;
    for (const WeightId id : step.weights) {
      if (id == kNone) continue;
      const WeightSlot& slot = program.weights[static_cast<std::size_t>(id)];
      text += fmt::format(" {} {}", slot.name, shape_text(slot.shape));
    }
    if (step.op == Op::attention && step.window > 0) text += fmt::format(" window {}", step.window);
    text += '\n';
  }
  return text;
}

std::int64_t multiplications_per_row(const Program& program) {
  std::int64_t count = 0;
  for (const Step& step : program.steps) {
    if (step.op != Op::linear) continue;
    const Shape& shape = program.weights[static_cast<std::size_t>(step.weights[0])].shape;
    count += shape[0] * shape[1];
  }
  return count;
}

}  // namespace linnet
