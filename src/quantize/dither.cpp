#include "quantize/dither.h"

#include <algorithm>
#include <array>

#include "base/random.h"
#include "quantize/float_weights.h"

namespace linnet {
namespace {

constexpr std::int64_t kGroup = 32;

float step_of(const float* group, std::int64_t count) {
  std::array<float, kGroup> sorted{};
  std::copy_n(group, count, sorted.begin());
  std::sort(sorted.begin(), sorted.begin() + count);
  float step = 0;
  for (std::int64_t i = 1; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const float gap = sorted[at] - sorted[at - 1];
    if (gap > 0 && (step == 0 || gap < step)) step = gap;
  }
  return step;
}

}  // namespace

Tensor dithered(const Tensor& matrix, std::uint64_t seed, ThreadPool& pool) {
  FloatWeight weight = decode_weight(matrix, pool);
  const RandomKey key = RandomKey::from_seed(seed);
  const std::int64_t width = weight.width();
  pool.parallel_for(weight.rows(), 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t first = 0; first < width; first += kGroup) {
        float* group = &weight.values[static_cast<std::size_t>(row * width + first)];
        const std::int64_t count = std::min(kGroup, width - first);
        const float step = step_of(group, count);
        for (std::int64_t i = 0; i < count; ++i) {
          const auto words = threefry2x32(key, static_cast<std::uint32_t>(row),
                                          static_cast<std::uint32_t>(first + i));
          const float uniform = static_cast<float>(words[0] >> 8) * 0x1p-24f;
          group[i] += step * (uniform - 0.5f);
        }
      }
    }
  });
  return Tensor::from_values(weight.shape, weight.values);
}

}  // namespace linnet
