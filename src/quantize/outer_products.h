// Sums of outer products, the arithmetic of calibration: f32 matrices by the kernels of this
// machine, shared out over a pool.
#pragma once

#include <cstdint>

#include "base/memory_account.h"
#include "base/thread_pool.h"

namespace linnet {

// Floats of a matrix, row-major: element (i, j) is data[i * stride + j].
struct FloatRows {
  const float* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t stride = 0;
};

// c[i][j] += factor * (sum over t of a[t][i] * a[t][j]) for all j >= i; below the diagonal c is
// left undefined. c is [columns, columns] with rows of `stride` floats.
void add_gram(const FloatRows& a, float factor, float* c, std::int64_t stride, ThreadPool& pool);

// The upper triangular R with h = R R^T, in place of the upper half of h, [size, size]. False when
// h is not positive definite (h is then spoilt). The lower half is left undefined.
bool factor_upper(float* h, std::int64_t size, ThreadPool& pool);

}  // namespace linnet
