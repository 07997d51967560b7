#include <algorithm>
#include <cmath>

#include "tensor/dtype.h"
#include "tensor/quantized_rows.h"

namespace linnet {
namespace {

int nearest_level(float x) {
  if (std::isnan(x)) return 0;
  return static_cast<int>(std::clamp(std::nearbyint(x), -32.0f, 31.0f));
}

// The scale that fits the codes for `scale` best, and how much of the weighted square it explains.
struct Fit {
  float scale = 0;
  float gain = -1;
};
Fit fit(std::span<const float> group, const float* importance, float scale) {
  const float inverse = 1.0f / scale;
  float a = 0, b = 0;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const auto level = static_cast<float>(nearest_level(group[i] * inverse));
    const float u = importance ? importance[i] : 1.0f;
    a += u * group[i] * level;
    b += u * level * level;
  }
  if (b <= 0) return {};
  return {a / b, a * a / b};
}

float group_scale(std::span<const float> group, const float* importance) {
  float extreme = 0;
  for (const float value : group) {
    if (std::fabs(value) > std::fabs(extreme)) extreme = value;
  }
  if (std::fabs(extreme) < 1e-30f) return 0;
  Fit best;
  for (const float shrink : {1.0f, 0.97f, 0.94f, 0.9f}) {
    for (const float sign : {1.0f, -1.0f}) {
      const Fit candidate = fit(group, importance, sign * shrink * extreme / -32.0f);
      if (candidate.gain > best.gain) best = candidate;
    }
  }
  return best.scale;
}

// The code whose byte is nearest to the target; the bytes are at most half a step off their line.
std::int8_t nearest_code(float target, std::int8_t c) {
  if (c == 0) return 0;
  const int middle = nearest_level(32.0f * target / static_cast<float>(c));
  int best = middle;
  float distance = std::fabs(target - static_cast<float>(s6_byte(middle, c)));
  for (const int code : {middle - 1, middle + 1}) {
    if (code < -32 || code > 31) continue;
    const float away = std::fabs(target - static_cast<float>(s6_byte(code, c)));
    if (away < distance) distance = away, best = code;
  }
  return static_cast<std::int8_t>(best);
}

}  // namespace

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
    out.codes[i] = nearest_code(row[i] / out.scale, out.groups[i / group_size]);
  }
}

void decode_s6(const S6Row& row, float* out) {
  for (std::size_t i = 0; i < row.codes.size(); ++i) {
    const std::int8_t c = row.groups[i / static_cast<std::size_t>(kS6Group)];
    out[i] = row.scale * static_cast<float>(s6_byte(row.codes[i], c));
  }
}

}  // namespace linnet
