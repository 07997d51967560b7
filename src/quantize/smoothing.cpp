#include "quantize/smoothing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace linnet {

std::vector<float> smoothing_factors(const std::vector<float>& squares) {
  std::vector<float> factors;
  for (const float square : squares) factors.push_back(std::sqrt(std::sqrt(square)));
  const double mean =
      std::accumulate(factors.begin(), factors.end(), 0.0) / static_cast<double>(factors.size());
  if (!(mean > 0)) return std::vector<float>(squares.size(), 1.0f);
  for (float& factor : factors) factor = std::max(factor / static_cast<float>(mean), 1e-3f);
  return factors;
}

void divide_moments(Moments& moments, const std::vector<float>& factors) {
  for (std::int64_t i = 0; i < moments.width; ++i) {
    float* row = moments.at(i);
    for (std::int64_t j = i; j < moments.width; ++j) {
      row[j] /= factors[static_cast<std::size_t>(i)] * factors[static_cast<std::size_t>(j)];
    }
  }
}

void fold_factors(const LinearGroup& group, const std::vector<float>& factors,
                  FloatWeights& weights) {
  LINNET_CHECK(group.can_be_smoothed());
  for (const WeightId id : {group.scale, group.rows, group.row_bias}) {
    if (id != kNone) divide_rows(weights.at(id), factors);
  }
}

}  // namespace linnet
