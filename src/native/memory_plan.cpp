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

}  // namespace linnet
