// Which buffers of a lowered program share memory.
#pragma once

#include "native/lowered.h"

namespace linnet {

// Gives every buffer a slot: buffers that live at the same time never share one. The output lives
// to the end.
void plan_memory(LoweredProgram& lowered);

}  // namespace linnet
