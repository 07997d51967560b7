#include "cli/program_cost.h"

#include <algorithm>
#include <string>

namespace linnet {
namespace {

class CostCounter {
 public:
  CostCounter(const Program& program, const ModelFiles& files, DType default_dtype,
              std::int64_t context)
      : program_(program), files_(files), dtype_(default_dtype), context_(context) {}

  StepCost of(const Step& step) const {
    const auto width =
        static_cast<std::uint64_t>(program_.values[static_cast<std::size_t>(step.output)].width);
    StepCost cost;
    for (const WeightId id : step.weights) {
      if (id != kNone) cost.weight_bytes += weight_bytes(id);
    }
    switch (step.op) {
      case Op::embed:
        cost.weight_bytes = weight_bytes(step.weights[0]) / table_rows(step);
        break;
      case Op::rms_norm:
        cost.operations = 4 * width;  // square, sum, times the root, times the scale
        break;
      case Op::linear:
        cost.operations = 2 * weight_elements(step.weights[0]);
        if (step.weights[1] != kNone) cost.operations += width;
        break;
      case Op::rope:
        cost.operations = 3 * width;  // of each pair four multiplications, two additions
        break;
      case Op::attention: {
        const std::uint64_t seen = positions_seen(step);
        const auto heads = static_cast<std::uint64_t>(step.heads);
        // Scores and mix, two operations an element each; the softmax of each score.
        cost.operations = seen * heads * (4 * static_cast<std::uint64_t>(step.head_dim) + 3);
        cost.cache_bytes =
            seen * 2 * static_cast<std::uint64_t>(step.kv_heads * step.head_dim) * sizeof(float);
        break;
      }
      case Op::gated_activation:
        cost.operations = 5 * width;  // silu: exp, addition, division, product; the gate
        break;
      case Op::add:
        cost.operations = width;
        break;
      case Op::select_rows:
        break;
    }
    return cost;
  }

 private:
  const WeightSlot& slot(WeightId id) const {
    return program_.weights[static_cast<std::size_t>(id)];
  }
  std::uint64_t weight_elements(WeightId id) const {
    return static_cast<std::uint64_t>(element_count(slot(id).shape, slot(id).name));
  }
  std::uint64_t table_rows(const Step& step) const {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(1, slot(step.weights[0]).shape[0]));
  }
  std::uint64_t weight_bytes(WeightId id) const {
    for (const std::string prefix : {"model.", "", "transformer."}) {
      if (const TensorInfo* info = files_.find(prefix + slot(id).name)) {
        return stored_bytes(*info);
      }
    }
    return tensor_bytes(dtype_, slot(id).shape, slot(id).name);
  }
  std::uint64_t positions_seen(const Step& step) const {
    return static_cast<std::uint64_t>(step.window > 0 ? std::min(step.window, context_) : context_);
  }

  const Program& program_;
  const ModelFiles& files_;
  DType dtype_;
  std::int64_t context_;
};

}  // namespace

std::vector<StepCost> program_costs(const Program& program, const ModelFiles& files,
                                    DType default_dtype, std::int64_t context) {
  const CostCounter counter(program, files, default_dtype, context);
  std::vector<StepCost> costs;
  for (const Step& step : program.steps) costs.push_back(counter.of(step));
  return costs;
}

StepCost total_cost(const std::vector<StepCost>& costs) {
  StepCost total;
  for (const StepCost& cost : costs) {
    total.operations += cost.operations;
    total.weight_bytes += cost.weight_bytes;
    total.cache_bytes += cost.cache_bytes;
  }
  return total;
}

}  // namespace linnet
