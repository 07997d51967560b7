#include <algorithm>
#include <cmath>

#include "tensor/dtype.h"
#include "tensor/quantized_rows.h"
#include "tensor/scale_search.h"

namespace linnet {
namespace {

// The whole number in [-32, 31] nearest to x, ties to even; of one float or of several. Adding and
// taking away 1.5 * 2^23 rounds.
template <class V>
V nearest_level(V x) {
  constexpr float kRound = 12582912.0f;
  x = x == x ? x : V{};
  x = x > -32.0f ? x : V{} - 32.0f;
  x = x < 31.0f ? x : V{} + 31.0f;
  return (x + kRound) - kRound;
}

float group_scale(std::span<const float> group, const float* importance) {
  const float extreme = extreme_of(group);
  if (std::fabs(extreme) < 1e-30f) return 0;
  float scales[8];
  std::size_t count = 0;
  for (const float shrink : {1.0f, 0.97f, 0.94f, 0.9f}) {
    for (const float sign : {1.0f, -1.0f}) scales[count++] = sign * shrink * extreme / -32.0f;
  }
  return search_scale(group, importance, scales, nearest_level<Quad>);
}

}  // namespace

std::int8_t nearest_s6(float target, std::int8_t c) {
  if (c == 0) return 0;
  // The bytes are at most half a step off their line.
  const int middle = static_cast<int>(nearest_level(32.0f * target / static_cast<float>(c)));
  int best = middle;
  float distance = std::fabs(target - static_cast<float>(s6_byte(middle, c)));
  for (const int code : {middle - 1, middle + 1}) {
    if (code < -32 || code > 31) continue;
    const float away = std::fabs(target - static_cast<float>(s6_byte(code, c)));
    if (away < distance) distance = away, best = code;
  }
  return static_cast<std::int8_t>(best);
}

void encode_s6(std::span<const float> row, std::span<const float> importance, S6Row& out) {
  const auto group_size = static_cast<std::size_t>(kS6Group);
  const std::size_t groups = (row.size() + group_size - 1) / group_size;
  std::vector<float> scales(groups);
  float largest = 0;
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t first = g * group_size;
    const auto group = row.subspan(first, std::min(group_size, row.size() - first));
    scales[g] = group_scale(group, importance.empty() ? nullptr : importance.data() + first);
    largest = std::max(largest, std::fabs(scales[g]));
  }
  out.scale = f16_to_f32(f32_to_f16(32.0f * largest / 127.0f));
  out.groups.assign(groups, 0);
  out.codes.assign(row.size(), 0);
  if (out.scale == 0) return;
  for (std::size_t g = 0; g < groups; ++g) {
    const float c = std::nearbyint(32.0f * scales[g] / out.scale);
    out.groups[g] = static_cast<std::int8_t>(std::clamp(c, -127.0f, 127.0f));
  }
  for (std::size_t i = 0; i < row.size(); ++i) {
    out.codes[i] = nearest_s6(row[i] / out.scale, out.groups[i / group_size]);
  }
}

void decode_s6(const S6Row& row, float* out) {
  for (std::size_t i = 0; i < row.codes.size(); ++i) {
    const std::int8_t c = row.groups[i / static_cast<std::size_t>(kS6Group)];
    out[i] = row.scale * static_cast<float>(s6_byte(row.codes[i], c));
  }
}

}  // namespace linnet
