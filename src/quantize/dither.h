// A baseline for measuring formats. Weights that were once rounded to few bits lie on a grid, which
// flatters formats with the same groups; moved at random within half a step of that grid they do
// not, and the model is about as good as before.
#pragma once

#include <cstdint>

#include "base/thread_pool.h"
#include "tensor/tensor.h"

namespace linnet {

// In f32: every number moved by a uniform amount within half a step of its group of 32 along the
// row, a step being the least distance between two different numbers of the group. The same for the
// same seed.
Tensor dithered(const Tensor& matrix, std::uint64_t seed, ThreadPool& pool);

}  // namespace linnet
