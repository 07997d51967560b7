// Finds NaN and infinities among weights. One pass over the bits, as fast as memory gives them; of
// blocks only the scales are read, since codes are always finite.
#pragma once

#include <cstdint>

#include "base/thread_pool.h"
#include "tensor/tensor.h"

namespace linnet {

struct NonFinite {
  std::int64_t count = 0;
  std::int64_t first = -1;  // index of an element; -1 when there is none
  float first_value = 0;
};

// Integer tensors have none.
NonFinite find_non_finite(const Tensor& tensor, ThreadPool& pool);

}  // namespace linnet
