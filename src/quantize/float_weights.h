// Weights decoded to f32 that may be changed, by their ids in a program.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "program/program.h"
#include "tensor/tensor.h"

namespace linnet {

struct FloatWeight {
  Shape shape;
  std::vector<float> values;

  std::int64_t width() const { return shape.back(); }
  std::int64_t rows() const { return static_cast<std::int64_t>(values.size()) / width(); }
  // A view of the values.
  Tensor tensor() const;
};
using FloatWeights = std::map<WeightId, FloatWeight>;

// Rows [first, first + count) of a matrix, or a whole vector.
FloatWeight decode_weight(const Tensor& tensor, ThreadPool& pool);
FloatWeight decode_rows(const Tensor& tensor, std::int64_t first, std::int64_t count,
                        ThreadPool& pool);

// column k times factors[k], in every row
void multiply_columns(FloatWeight& weight, const std::vector<float>& factors);
// row k (of a vector: number k) divided by factors[k]
void divide_rows(FloatWeight& weight, const std::vector<float>& factors);

}  // namespace linnet
