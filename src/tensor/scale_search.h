// The search for the scale of a group of weights. Candidates are tried side by side, each in a lane
// of its own whose sums run over the group in order: the result is that of one after the other.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace linnet {

using Quad = float __attribute__((vector_size(16)));
using Ints = std::int32_t __attribute__((vector_size(16)));

// The first of the scales (at most 16, none of them zero) whose codes explain the most of the
// weighted square of the group, (Σ u w T)^2 / Σ u T^2, refitted by least squares for those codes:
// Σ u w T / Σ u T^2. to_level turns quotients w / scale into the levels T nearest to them. 0 when
// no scale explains anything. `importance` may be null.
template <class ToLevel>
float search_scale(std::span<const float> group, const float* importance,
                   std::span<const float> scales, ToLevel to_level) {
  constexpr std::size_t kQuads = 4;
  Quad inverse[kQuads], a[kQuads] = {}, b[kQuads] = {};
  for (std::size_t c = 0; c < 4 * kQuads; ++c) {
    inverse[c / 4][c % 4] = 1.0f / scales[std::min(c, scales.size() - 1)];
  }
  const std::size_t quads = (scales.size() + 3) / 4;
  for (std::size_t q = 0; q < quads; ++q) {
    for (std::size_t i = 0; i < group.size(); ++i) {
      const float u = importance ? importance[i] : 1.0f;
      const Quad level = to_level(group[i] * inverse[q]);
      a[q] += u * group[i] * level;
      b[q] += u * level * level;
    }
  }
  float best = 0, most = -1;
  for (std::size_t c = 0; c < scales.size(); ++c) {
    const float ac = a[c / 4][c % 4], bc = b[c / 4][c % 4];
    if (bc <= 0 || !(ac * ac / bc > most)) continue;
    most = ac * ac / bc;
    best = ac / bc;
  }
  return best;
}

// The weight that is farthest from zero, the first of them.
inline float extreme_of(std::span<const float> group) {
  float extreme = 0;
  for (const float value : group) {
    if (std::fabs(value) > std::fabs(extreme)) extreme = value;
  }
  return extreme;
}

}  // namespace linnet
