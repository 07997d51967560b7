// The native lane: lowers a program once (fused steps, packed weights, a plan of the memory), then
// one call replays all of it with the best kernels of the machine. It knows programs and tensors,
// nothing of files or models.
#pragma once

#include "native/native_lane.h"
