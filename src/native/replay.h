// One run of a lowered program.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/memory_account.h"
#include "native/native_lane.h"

namespace linnet {

// The selected rows of the program's output; the rows then count in their caches.
std::vector<float> replay(const NativeLane& lane, const Batch& batch, const RunOptions& options,
                          Workspace& workspace);

}  // namespace linnet
