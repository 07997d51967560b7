#include "tensor/quantized_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/dtype.h"

namespace linnet {
namespace {

float largest_magnitude(std::span<const float> values) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::fabs(value));
  return largest;
}

// Index of the level nearest to x, for levels in ascending order: how many midpoints lie below it.
template <typename Level>
int nearest(const Level* middles, float x) {
  int index = 0;
  for (int i = 0; i < 15; ++i) index += x > static_cast<float>(middles[i]);
  return index;
}

struct Middles {
  float value[15];
  constexpr Middles() : value{} {
    for (int i = 0; i < 15; ++i)
      value[i] = 0.5f * static_cast<float>(kN4Levels[i] + kN4Levels[i + 1]);
  }
};
constexpr Middles kMiddles;

struct Fit {
  float scale = 0;
  float gain = -1;  // A^2 / B: how much of the weighted square the fit explains
};

// Codes for `scale`, then the scale that fits those codes best (Σ u w T / Σ u T^2).
Fit fit(std::span<const float> group, const float* importance, float scale) {
  const float inverse = 1.0f / scale;
  float a = 0, b = 0;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const float level = kN4Levels[nearest(kMiddles.value, group[i] * inverse)];
    const float u = importance ? importance[i] : 1.0f;
    a += u * group[i] * level;
    b += u * level * level;
  }
  if (b <= 0) return {};
  return {a / b, a * a / b};
}

// The signed scale of a group; 0 for a group of zeros.
float group_scale(std::span<const float> group, const float* importance) {
  float extreme = 0;
  for (const float value : group) {
    if (std::fabs(value) > std::fabs(extreme)) extreme = value;
  }
  if (std::fabs(extreme) < 1e-30f) return 0;
  Fit best;
  for (const float shrink : {1.05f, 1.0f, 0.95f, 0.9f, 0.85f, 0.8f, 0.72f}) {
    for (const float sign : {1.0f, -1.0f}) {
      const Fit candidate = fit(group, importance, sign * shrink * extreme / -127.0f);
      if (candidate.gain > best.gain) best = candidate;
    }
  }
  return best.scale;
}

std::uint8_t nearest_code(float target, std::int8_t c) {
  int best = 0;
  float distance = std::numeric_limits<float>::infinity();
  for (int code = 0; code < 16; ++code) {
    const float away = std::fabs(target - static_cast<float>(n4_byte(code, c)));
    if (away < distance) {
      distance = away;
      best = code;
    }
  }
  return static_cast<std::uint8_t>(best);
}

}  // namespace

void encode_i8(std::span<const float> row, I8Row& out) {
  out.scale = largest_magnitude(row) / 127.0f;
  out.codes.assign(row.size(), 0);
  if (out.scale == 0) return;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const float code = std::nearbyint(row[i] / out.scale);
    out.codes[i] = static_cast<std::int8_t>(std::clamp(code, -127.0f, 127.0f));
  }
}

void decode_i8(const I8Row& row, float* out) {
  for (std::size_t i = 0; i < row.codes.size(); ++i) {
    out[i] = row.scale * static_cast<float>(row.codes[i]);
  }
}

void encode_n4(std::span<const float> row, std::span<const float> importance, N4Row& out) {
  const auto group_size = static_cast<std::size_t>(kN4Group);
  const std::size_t groups = (row.size() + group_size - 1) / group_size;
  std::vector<float> scales(groups);
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t first = g * group_size;
    const auto group = row.subspan(first, std::min(group_size, row.size() - first));
    scales[g] = group_scale(group, importance.empty() ? nullptr : importance.data() + first);
  }
  out.scale = f16_to_f32(f32_to_f16(128.0f * largest_magnitude(scales) / 127.0f));
  out.groups.assign(groups, 0);
  // With c = 0 every code stands for zero; the code of the level nearest to zero it is.
  out.codes.assign(row.size(), 8);
  if (out.scale == 0) return;
  for (std::size_t g = 0; g < groups; ++g) {
    const float c = std::nearbyint(128.0f * scales[g] / out.scale);
    out.groups[g] = static_cast<std::int8_t>(std::clamp(c, -127.0f, 127.0f));
  }
  for (std::size_t i = 0; i < row.size(); ++i) {
    out.codes[i] = nearest_code(row[i] / out.scale, out.groups[i / group_size]);
  }
}

void decode_n4(const N4Row& row, float* out) {
  for (std::size_t i = 0; i < row.codes.size(); ++i) {
    const std::int8_t c = row.groups[i / static_cast<std::size_t>(kN4Group)];
    out[i] = row.scale * static_cast<float>(n4_byte(row.codes[i], c));
  }
}

}  // namespace linnet
