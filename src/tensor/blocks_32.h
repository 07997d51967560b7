// The blocks of 32 values: one small struct per format, which takes blocks apart (read) and, where
// Linnet writes the format, makes them (encode). A struct has kValues, kBytes, kGroup (values that
// share a scale), kHasBias, kLevels (the table of sixteen levels that hold all of its own, or null)
// and read(block, parts) [, encode(in, block)].
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tensor/half_bits.h"

namespace linnet::blocks {

using half_bits::load_f16;
using half_bits::store_f16;

// A block taken apart. Value i of group g is level[i] * (scale * factor[g]) and, where the format
// has biases, + bias * bias_factor[g]; each product rounded once. Blocks of one group have no
// factors.
struct Parts {
  std::int8_t level[256];
  float scale, bias;
  std::int8_t factor[16], bias_factor[16];
};

template <class Format>
float group_scale(const Parts& parts, int group) {
  if constexpr (Format::kGroup == Format::kValues) return parts.scale;
  return parts.scale * static_cast<float>(parts.factor[group]);
}
template <class Format>
float group_bias(const Parts& parts, int group) {
  if constexpr (!Format::kHasBias) return 0;
  if constexpr (Format::kGroup == Format::kValues) return parts.bias;
  return parts.bias * static_cast<float>(parts.bias_factor[group]);
}

inline constexpr std::int8_t kCentred[16] = {-8, -7, -6, -5, -4, -3, -2, -1,
                                             0,  1,  2,  3,  4,  5,  6,  7};
inline constexpr std::int8_t kAscending[16] = {0, 1, 2,  3,  4,  5,  6,  7,
                                               8, 9, 10, 11, 12, 13, 14, 15};

inline int byte_at(const std::byte* bytes, int index) { return std::to_integer<int>(bytes[index]); }
inline int low_nibble(std::byte value) { return std::to_integer<int>(value) & 15; }
inline int high_nibble(std::byte value) { return std::to_integer<int>(value) >> 4; }
inline std::int8_t to_byte(int level) { return static_cast<std::int8_t>(level); }
// Values i and i + 16 of a block share byte i.
inline std::byte join_nibbles(int low, int high) { return static_cast<std::byte>(low | high << 4); }

// Truncates into 0..top; a NaN becomes 0.
inline int to_level(double value, int top) {
  if (value >= top) return top;
  return value > 0.0 ? static_cast<int>(value) : 0;
}
inline float inverse(float scale) { return scale == 0.0f ? 0.0f : 1.0f / scale; }

// The value of the largest magnitude, with its sign; the first one when several are as large.
inline float signed_peak(const float* values) {
  float peak = values[0];
  for (int i = 1; i < 32; ++i) {
    if (std::fabs(values[i]) > std::fabs(peak)) peak = values[i];
  }
  return peak;
}

struct Range {
  float low, high;
};
inline Range range_of(const float* values) {
  Range range{values[0], values[0]};
  for (int i = 1; i < 32; ++i) {
    if (values[i] < range.low) range.low = values[i];
    if (values[i] > range.high) range.high = values[i];
  }
  return range;
}

// Sixteen bytes of nibbles, which choose a level.
inline void read_nibbles(const std::byte* codes, const std::int8_t* levels, std::int8_t* out) {
  for (int i = 0; i < 16; ++i) {
    out[i] = levels[low_nibble(codes[i])];
    out[i + 16] = levels[high_nibble(codes[i])];
  }
}

// f16 scale, 16 bytes of nibbles: (q - 8) * scale.
struct Q4_0 {
  static constexpr int kValues = 32, kBytes = 18, kGroup = 32;
  static constexpr bool kHasBias = false;
  static constexpr const std::int8_t* kLevels = kCentred;

  static void read(const std::byte* block, Parts& parts) {
    parts.scale = load_f16(block);
    read_nibbles(block + 2, kLevels, parts.level);
  }

  // In double: the reference rounds x * inverse + 8.5 once, as a fused multiply-add would.
  static void encode(const float* in, std::byte* block) {
    const float scale = signed_peak(in) / -8.0f;
    const double factor = inverse(scale);
    store_f16(block, scale);
    for (int i = 0; i < 16; ++i) {
      block[2 + i] =
          join_nibbles(to_level(in[i] * factor + 8.5, 15), to_level(in[i + 16] * factor + 8.5, 15));
    }
  }
};

// f16 scale, f16 minimum, nibbles: q * scale + minimum.
struct Q4_1 {
  static constexpr int kValues = 32, kBytes = 20, kGroup = 32;
  static constexpr bool kHasBias = true;
  static constexpr const std::int8_t* kLevels = kAscending;

  static void read(const std::byte* block, Parts& parts) {
    parts.scale = load_f16(block);
    parts.bias = load_f16(block + 2);
    read_nibbles(block + 4, kLevels, parts.level);
  }

  static void encode(const float* in, std::byte* block) {
    const Range range = range_of(in);
    const float scale = (range.high - range.low) / 15.0f;
    const float factor = inverse(scale);
    store_f16(block, scale);
    store_f16(block + 2, range.low);
    for (int i = 0; i < 16; ++i) {
      block[4 + i] = join_nibbles(to_level((in[i] - range.low) * factor + 0.5f, 15),
                                  to_level((in[i + 16] - range.low) * factor + 0.5f, 15));
    }
  }
};

// Five-bit codes: nibbles in 16 bytes, the fifth bit of value i in bit i of a word before them.
inline std::uint32_t load_high_bits(const std::byte* bytes) {
  std::uint32_t bits;
  std::memcpy(&bits, bytes, sizeof(bits));
  return bits;
}
inline void read_five_bits(const std::byte* bytes, int zero, std::int8_t* out) {
  const std::uint32_t high = load_high_bits(bytes);
  const std::byte* codes = bytes + 4;
  for (int i = 0; i < 16; ++i) {
    out[i] = to_byte((low_nibble(codes[i]) | static_cast<int>((high >> i & 1u) << 4)) - zero);
    out[i + 16] =
        to_byte((high_nibble(codes[i]) | static_cast<int>((high >> (i + 16) & 1u) << 4)) - zero);
  }
}
inline void store_five_bits(const int* codes, std::byte* bytes) {
  std::uint32_t high = 0;
  for (int i = 0; i < 32; ++i) high |= static_cast<std::uint32_t>(codes[i] >> 4) << i;
  std::memcpy(bytes, &high, sizeof(high));
  for (int i = 0; i < 16; ++i) bytes[4 + i] = join_nibbles(codes[i] & 15, codes[i + 16] & 15);
}

// f16 scale, five-bit codes: (q - 16) * scale.
struct Q5_0 {
  static constexpr int kValues = 32, kBytes = 22, kGroup = 32;
  static constexpr bool kHasBias = false;
  static constexpr const std::int8_t* kLevels = nullptr;

  static void read(const std::byte* block, Parts& parts) {
    parts.scale = load_f16(block);
    read_five_bits(block + 2, 16, parts.level);
  }

  static void encode(const float* in, std::byte* block) {
    const float scale = signed_peak(in) / -16.0f;
    const double factor = inverse(scale);
    int codes[32];
    for (int i = 0; i < 32; ++i) codes[i] = to_level(in[i] * factor + 16.5, 31);
    store_f16(block, scale);
    store_five_bits(codes, block + 2);
  }
};

// f16 scale, f16 minimum, five-bit codes: q * scale + minimum.
struct Q5_1 {
  static constexpr int kValues = 32, kBytes = 24, kGroup = 32;
  static constexpr bool kHasBias = true;
  static constexpr const std::int8_t* kLevels = nullptr;

  static void read(const std::byte* block, Parts& parts) {
    parts.scale = load_f16(block);
    parts.bias = load_f16(block + 2);
    read_five_bits(block + 4, 0, parts.level);
  }

  static void encode(const float* in, std::byte* block) {
    const Range range = range_of(in);
    const float scale = (range.high - range.low) / 31.0f;
    const float factor = inverse(scale);
    int codes[32];
    for (int i = 0; i < 32; ++i) codes[i] = to_level((in[i] - range.low) * factor + 0.5f, 31);
    store_f16(block, scale);
    store_f16(block + 2, range.low);
    store_five_bits(codes, block + 4);
  }
};

// f16 scale, 32 signed bytes.
struct Q8_0 {
  static constexpr int kValues = 32, kBytes = 34, kGroup = 32;
  static constexpr bool kHasBias = false;
  static constexpr const std::int8_t* kLevels = nullptr;

  static void read(const std::byte* block, Parts& parts) {
    parts.scale = load_f16(block);
    std::memcpy(parts.level, block + 2, 32);
  }

  // Rounds halves away from zero.
  static void encode(const float* in, std::byte* block) {
    const float scale = std::fabs(signed_peak(in)) / 127.0f;
    const float factor = inverse(scale);
    store_f16(block, scale);
    for (int i = 0; i < 32; ++i) {
      const float value = in[i] * factor;
      const int magnitude = to_level(std::round(std::fabs(value)), 127);
      block[2 + i] = static_cast<std::byte>(value < 0.0f ? -magnitude : magnitude);
    }
  }
};

// The sixteen levels of the two non-linear 4-bit formats.
inline constexpr std::int8_t kNonLinear[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                               1,    13,   25,  38,  53,  69,  89,  113};

// f16 scale, nibbles that choose a level.
struct Iq4Nl {
  static constexpr int kValues = 32, kBytes = 18, kGroup = 32;
  static constexpr bool kHasBias = false;
  static constexpr const std::int8_t* kLevels = kNonLinear;

  static void read(const std::byte* block, Parts& parts) {
    parts.scale = load_f16(block);
    read_nibbles(block + 2, kLevels, parts.level);
  }
};

// One scale byte e, 2^(e - 127), and nibbles in E2M1. The table holds twice the E2M1 value, so the
// scale is halved; it may then be denormal.
struct Mxfp4 {
  static constexpr int kValues = 32, kBytes = 17, kGroup = 32;
  static constexpr bool kHasBias = false;
  static constexpr std::int8_t kDoubled[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                               0, -1, -2, -3, -4, -6, -8, -12};
  static constexpr const std::int8_t* kLevels = kDoubled;

  static float half_scale(int exponent) {
    const std::uint32_t bits =
        exponent < 2 ? 0x00200000u << exponent : static_cast<std::uint32_t>(exponent - 1) << 23;
    return std::bit_cast<float>(bits);
  }

  static void read(const std::byte* block, Parts& parts) {
    parts.scale = half_scale(byte_at(block, 0));
    read_nibbles(block + 1, kLevels, parts.level);
  }

  // The code with the smallest error, the first one of several.
  static int nearest(float value, float scale) {
    int best = 0;
    float best_error = std::fabs(value);
    for (int code = 1; code < 16; ++code) {
      const float error = std::fabs(kDoubled[code] * scale - value);
      if (error < best_error) {
        best = code;
        best_error = error;
      }
    }
    return best;
  }

  // The largest E2M1 value is 6 = 1.5 * 2^2: the peak's exponent less 2 is the scale's.
  static void encode(const float* in, std::byte* block) {
    const float peak = std::fabs(signed_peak(in));
    int exponent = 0;
    if (peak > 0.0f && std::isfinite(peak)) exponent = std::ilogb(peak) - 2 + 127;
    if (exponent < 0) exponent = 0;
    const float scale = half_scale(exponent);
    block[0] = static_cast<std::byte>(exponent);
    for (int i = 0; i < 16; ++i) {
      block[1 + i] = join_nibbles(nearest(in[i], scale), nearest(in[i + 16], scale));
    }
  }
};

}  // namespace linnet::blocks
