// One run of a lowered program.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/memory_account.h"
#include "native/native_lane.h"

namespace linnet {

// Memory that runs use one after the other; it grows to the largest of them.
struct Workspace {
  std::vector<Buffer> slots;  // of the memory plan
  Buffer units;               // tiled activations of one linear
  std::vector<float> scales;
  std::vector<std::int32_t> sums;
  Buffer partials;  // of attention
};

// The selected rows of the program's output; the rows then count in their caches.
std::vector<float> replay(const NativeLane& lane, const Batch& batch, const RunOptions& options,
                          Workspace& workspace);

}  // namespace linnet
