#include "tensor/quantized_rows.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "tensor/dtype.h"
#include "tensor/scale_search.h"

namespace linnet {
namespace {

float largest_magnitude(std::span<const float> values) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::fabs(value));
  return largest;
}

// The middles between levels, and how far apart these are.
struct Middles {
  float value[15], step[15];
  constexpr Middles() : value{}, step{} {
    for (int i = 0; i < 15; ++i) {
      value[i] = 0.5f * static_cast<float>(kN4Levels[i] + kN4Levels[i + 1]);
      step[i] = static_cast<float>(kN4Levels[i + 1] - kN4Levels[i]);
    }
  }
};
constexpr Middles kMiddles;

// The lowest level, and a step up for each middle that lies below x.
Quad nearest_level(Quad x) {
  Quad level = Quad{} + static_cast<float>(kN4Levels[0]);
#pragma GCC unroll 15
  for (int i = 0; i < 15; ++i) {
    const Quad step = Quad{} + kMiddles.step[i];
    level += std::bit_cast<Quad>((x > kMiddles.value[i]) & std::bit_cast<Ints>(step));
  }
  return level;
}

// The signed scale of a group; 0 for a group of zeros.
float group_scale(std::span<const float> group, const float* importance) {
  const float extreme = extreme_of(group);
  if (std::fabs(extreme) < 1e-30f) return 0;
  float scales[14];
  std::size_t count = 0;
  for (const float shrink : {1.05f, 1.0f, 0.95f, 0.9f, 0.85f, 0.8f, 0.72f}) {
    for (const float sign : {1.0f, -1.0f}) scales[count++] = sign * shrink * extreme / -127.0f;
  }
  return search_scale(group, importance, scales, nearest_level);
}

// The first of the codes whose bytes are nearest to the weights of a group.
void choose_codes(std::span<const float> group, float scale, std::int8_t c, std::uint8_t* codes) {
  float bytes[16];
  for (int code = 0; code < 16; ++code) bytes[code] = static_cast<float>(n4_byte(code, c));
  for (std::size_t first = 0; first < group.size(); first += 4) {
    const std::size_t count = std::min<std::size_t>(4, group.size() - first);
    Quad target = {};
    for (std::size_t i = 0; i < count; ++i) target[i] = group[first + i] / scale;
    Quad distance = Quad{} + std::numeric_limits<float>::infinity();
    Ints best = {};
#pragma GCC unroll 16
    for (int code = 0; code < 16; ++code) {
      const Quad ahead = target - bytes[code], away = ahead < -ahead ? -ahead : ahead;
      best = away < distance ? Ints{} + code : best;
      distance = away < distance ? away : distance;
    }
    for (std::size_t i = 0; i < count; ++i) codes[first + i] = static_cast<std::uint8_t>(best[i]);
  }
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
  const auto group_of = [&](std::size_t g) {
    return row.subspan(g * group_size, std::min(group_size, row.size() - g * group_size));
  };
  for (std::size_t g = 0; g < groups; ++g) {
    scales[g] =
        group_scale(group_of(g), importance.empty() ? nullptr : importance.data() + g * group_size);
  }
  out.scale = f16_to_f32(f32_to_f16(128.0f * largest_magnitude(scales) / 127.0f));
  out.groups.assign(groups, 0);
  // With c = 0 every code stands for zero; the code of the level nearest to zero it is.
  out.codes.assign(row.size(), 8);
  if (out.scale == 0) return;
  for (std::size_t g = 0; g < groups; ++g) {
    const float c = std::nearbyint(128.0f * scales[g] / out.scale);
    out.groups[g] = static_cast<std::int8_t>(std::clamp(c, -127.0f, 127.0f));
    choose_codes(group_of(g), out.scale, out.groups[g], out.codes.data() + g * group_size);
  }
}

void decode_n4(const N4Row& row, float* out) {
  for (std::size_t i = 0; i < row.codes.size(); ++i) {
    const std::int8_t c = row.groups[i / static_cast<std::size_t>(kN4Group)];
    out[i] = row.scale * static_cast<float>(n4_byte(row.codes[i], c));
  }
}

}  // namespace linnet
