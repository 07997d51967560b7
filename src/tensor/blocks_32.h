// The blocks of 32 values: one small struct per format, with its decoding and, where Linnet writes
// the format, its encoding. A struct has kValues, kBytes and decode(block, out) [, encode(in,
// block)].
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

inline int byte_at(const std::byte* bytes, int index) { return std::to_integer<int>(bytes[index]); }
inline int low_nibble(std::byte value) { return std::to_integer<int>(value) & 15; }
inline int high_nibble(std::byte value) { return std::to_integer<int>(value) >> 4; }
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

// f16 scale, 16 bytes of nibbles: (q - 8) * scale.
struct Q4_0 {
  static constexpr int kValues = 32, kBytes = 18;

  static void decode(const std::byte* block, float* out) {
    const float scale = load_f16(block);
    const std::byte* codes = block + 2;
    for (int i = 0; i < 16; ++i) {
      out[i] = static_cast<float>(low_nibble(codes[i]) - 8) * scale;
      out[i + 16] = static_cast<float>(high_nibble(codes[i]) - 8) * scale;
    }
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
  static constexpr int kValues = 32, kBytes = 20;

  static void decode(const std::byte* block, float* out) {
    const float scale = load_f16(block);
    const float minimum = load_f16(block + 2);
    const std::byte* codes = block + 4;
    for (int i = 0; i < 16; ++i) {
      out[i] = static_cast<float>(low_nibble(codes[i])) * scale + minimum;
      out[i + 16] = static_cast<float>(high_nibble(codes[i])) * scale + minimum;
    }
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
inline void store_five_bits(const int* codes, std::byte* bytes) {
  std::uint32_t high = 0;
  for (int i = 0; i < 32; ++i) high |= static_cast<std::uint32_t>(codes[i] >> 4) << i;
  std::memcpy(bytes, &high, sizeof(high));
  for (int i = 0; i < 16; ++i) bytes[4 + i] = join_nibbles(codes[i] & 15, codes[i + 16] & 15);
}

// f16 scale, five-bit codes: (q - 16) * scale.
struct Q5_0 {
  static constexpr int kValues = 32, kBytes = 22;

  static void decode(const std::byte* block, float* out) {
    const float scale = load_f16(block);
    const std::uint32_t high = load_high_bits(block + 2);
    const std::byte* codes = block + 6;
    for (int i = 0; i < 16; ++i) {
      const int first = low_nibble(codes[i]) | static_cast<int>((high >> i & 1u) << 4);
      const int second = high_nibble(codes[i]) | static_cast<int>((high >> (i + 16) & 1u) << 4);
      out[i] = static_cast<float>(first - 16) * scale;
      out[i + 16] = static_cast<float>(second - 16) * scale;
    }
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
  static constexpr int kValues = 32, kBytes = 24;

  static void decode(const std::byte* block, float* out) {
    const float scale = load_f16(block);
    const float minimum = load_f16(block + 2);
    const std::uint32_t high = load_high_bits(block + 4);
    const std::byte* codes = block + 8;
    for (int i = 0; i < 16; ++i) {
      const int first = low_nibble(codes[i]) | static_cast<int>((high >> i & 1u) << 4);
      const int second = high_nibble(codes[i]) | static_cast<int>((high >> (i + 16) & 1u) << 4);
      out[i] = static_cast<float>(first) * scale + minimum;
      out[i + 16] = static_cast<float>(second) * scale + minimum;
    }
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
  static constexpr int kValues = 32, kBytes = 34;

  static void decode(const std::byte* block, float* out) {
    const float scale = load_f16(block);
    const auto* codes = reinterpret_cast<const signed char*>(block + 2);
    for (int i = 0; i < 32; ++i) out[i] = static_cast<float>(codes[i]) * scale;
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
inline constexpr float kNonLinear[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                         1,    13,   25,  38,  53,  69,  89,  113};

// f16 scale, nibbles that choose a level.
struct Iq4Nl {
  static constexpr int kValues = 32, kBytes = 18;

  static void decode(const std::byte* block, float* out) {
    const float scale = load_f16(block);
    const std::byte* codes = block + 2;
    for (int i = 0; i < 16; ++i) {
      out[i] = kNonLinear[low_nibble(codes[i])] * scale;
      out[i + 16] = kNonLinear[high_nibble(codes[i])] * scale;
    }
  }
};

// One scale byte e, 2^(e - 127), and nibbles in E2M1. The table holds twice the E2M1 value, so the
// scale is halved; it may then be denormal.
struct Mxfp4 {
  static constexpr int kValues = 32, kBytes = 17;
  static constexpr float kDoubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

  static float half_scale(int exponent) {
    const std::uint32_t bits =
        exponent < 2 ? 0x00200000u << exponent : static_cast<std::uint32_t>(exponent - 1) << 23;
    return std::bit_cast<float>(bits);
  }

  static void decode(const std::byte* block, float* out) {
    const float scale = half_scale(byte_at(block, 0));
    const std::byte* codes = block + 1;
    for (int i = 0; i < 16; ++i) {
      out[i] = kDoubled[low_nibble(codes[i])] * scale;
      out[i + 16] = kDoubled[high_nibble(codes[i])] * scale;
    }
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
