#include "native/memory_plan.h"

#include <algorithm>
#include <utility>

namespace linnet {
namespace {

struct Life {
  std::size_t first = static_cast<std::size_t>(-1);
  std::size_t last = 0;
};

std::vector<Life> find_lives(const LoweredProgram& lowered) {
  std::vector<Life> lives(lowered.buffers.size());
  const auto touch = [&](const Place& place, std::size_t step) {
    if (place.buffer == kNone) return;
    Life& life = lives[static_cast<std::size_t>(place.buffer)];
    life.first = std::min(life.first, step);
    life.last = std::max(life.last, step);
  };
  for (std::size_t i = 0; i < lowered.steps.size(); ++i) {
    const NativeStep& step = lowered.steps[i];
    for (const Place& place :
         {step.input, step.second, step.output, step.query, step.key, step.value}) {
      touch(place, i);
    }
  }
  touch(lowered.output, lowered.steps.size());
  return lives;
}

}  // namespace

void plan_memory(LoweredProgram& lowered) {
  const std::vector<Life> lives = find_lives(lowered);
  std::vector<std::size_t> order(lowered.buffers.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return lives[a].first < lives[b].first; });
  std::vector<std::size_t> free_after;  // per slot: the last step of its buffer
  for (const std::size_t index : order) {
    NativeBuffer& buffer = lowered.buffers[index];
    std::size_t slot = 0;
    while (slot < lowered.slots.size() &&
           (lowered.slots[slot].rows != buffer.rows || free_after[slot] >= lives[index].first)) {
      ++slot;
    }
    if (slot == lowered.slots.size()) {
      lowered.slots.push_back({buffer.rows, 0});
      free_after.push_back(0);
    }
    lowered.slots[slot].width = std::max(lowered.slots[slot].width, buffer.width);
    free_after[slot] = lives[index].last;
    buffer.slot = static_cast<std::int32_t>(slot);
  }
}

std::int64_t workspace_bytes(const LoweredProgram& lowered, std::int64_t rows,
                             std::int64_t context) {
  std::int64_t bytes = 0, units = 0, partials = 0;
  for (const SlotPlan& slot : lowered.slots) {
    bytes += (slot.rows == RowCount::all ? rows : 1) * slot.width * 4;
  }
  for (const MatrixPlan& matrix : lowered.matrices) units = std::max(units, matrix.inputs);
  for (const NativeStep& step : lowered.steps) {
    if (step.op != NativeOp::attention) continue;
    const std::int64_t seen = step.window > 0 ? std::min(step.window, context) : context;
    const std::int64_t segments = seen / kSegmentPositions + 1;
    partials = std::max(partials, segments * step.heads * (2 + padded_dim(step.head_dim)));
  }
  return bytes + rows * (units + partials) * 4;
}

}  // namespace linnet
