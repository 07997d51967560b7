#include "quantize/float_weights.h"

#include "base/error.h"

namespace linnet {

Tensor FloatWeight::tensor() const {
  return Tensor(DType::f32, shape, std::as_bytes(std::span(values)), nullptr);
}

FloatWeight decode_rows(const Tensor& tensor, std::int64_t first, std::int64_t count,
                        ThreadPool& pool) {
  const std::int64_t width = tensor.dim(-1);
  FloatWeight weight{{count, width}, std::vector<float>(static_cast<std::size_t>(count * width))};
  pool.parallel_for(count, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      tensor.decode_row(first + row, &weight.values[static_cast<std::size_t>(row * width)]);
    }
  });
  return weight;
}

FloatWeight decode_weight(const Tensor& tensor, ThreadPool& pool) {
  FloatWeight weight = decode_rows(tensor, 0, tensor.rows(), pool);
  weight.shape = tensor.shape();
  return weight;
}

void multiply_columns(FloatWeight& weight, const std::vector<float>& factors) {
  LINNET_CHECK(static_cast<std::size_t>(weight.width()) == factors.size());
  for (std::size_t i = 0; i < weight.values.size(); ++i) {
    weight.values[i] *= factors[i % factors.size()];
  }
}

void divide_rows(FloatWeight& weight, const std::vector<float>& factors) {
  const std::size_t width = weight.values.size() / factors.size();
  for (std::size_t i = 0; i < weight.values.size(); ++i) weight.values[i] /= factors[i / width];
}

}  // namespace linnet
