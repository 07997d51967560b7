// Which buffers of a lowered program share memory.
#pragma once

#include "native/lowered.h"

namespace linnet {

// Gives every buffer a slot: buffers that live at the same time never share one. The output lives
// to the end.
void plan_memory(LoweredProgram& lowered);

// Bytes of a workspace that has run `rows` rows, one of them selected, with `context` positions
// before them.
std::int64_t workspace_bytes(const LoweredProgram& lowered, std::int64_t rows,
                             std::int64_t context);

}  // namespace linnet
