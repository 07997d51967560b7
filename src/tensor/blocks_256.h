// The blocks of 256 values ("K" formats and IQ4_XS): groups of 16 or 32 values have small integer
// scales of their own, which multiply one f16 scale of the block. Decoding only.
#pragma once

#include "tensor/blocks_32.h"

namespace linnet::blocks {

// 16 bytes of scale nibbles (low: scale, high: minimum), 64 bytes of 2-bit codes, f16 scales of
// both: scale * q - minimum. A half of the block takes 32 code bytes, four codes from each.
struct Q2_K {
  static constexpr int kValues = 256, kBytes = 84;

  static void decode(const std::byte* block, float* out) {
    const float scale = load_f16(block + 80);
    const float minimum = load_f16(block + 82);
    for (int group = 0; group < 16; ++group) {
      const float group_scale = scale * static_cast<float>(low_nibble(block[group]));
      const float group_minimum = minimum * static_cast<float>(high_nibble(block[group]));
      const std::byte* codes = block + 16 + group / 8 * 32 + group % 2 * 16;
      const int shift = group % 8 / 2 * 2;
      for (int i = 0; i < 16; ++i) {
        const int code = byte_at(codes, i) >> shift & 3;
        out[group * 16 + i] = group_scale * static_cast<float>(code) - group_minimum;
      }
    }
  }
};

// 32 bytes of high bits, 64 bytes of 2-bit codes, sixteen 6-bit scales in 12 bytes, f16 scale:
// scale * (s - 32) * (q - 4), where the high bit gives the 4.
struct Q3_K {
  static constexpr int kValues = 256, kBytes = 110;

  static int group_scale(const std::byte* packed, int group) {
    const std::byte low = packed[group % 8];
    const int high = byte_at(packed, 8 + group % 4) >> (group / 4 * 2) & 3;
    return ((group < 8 ? low_nibble(low) : high_nibble(low)) | high << 4) - 32;
  }

  static void decode(const std::byte* block, float* out) {
    const float scale = load_f16(block + 108);
    for (int group = 0; group < 16; ++group) {
      const float factor = scale * static_cast<float>(group_scale(block + 96, group));
      const std::byte* high = block + group % 2 * 16;
      const std::byte* codes = block + 32 + group / 8 * 32 + group % 2 * 16;
      const int shift = group % 8 / 2 * 2;
      const int bit = group / 2;
      for (int i = 0; i < 16; ++i) {
        const int code = (byte_at(codes, i) >> shift & 3) + (byte_at(high, i) >> bit & 1) * 4 - 4;
        out[group * 16 + i] = factor * static_cast<float>(code);
      }
    }
  }
};

// Eight 6-bit scales and eight 6-bit minima in 12 bytes: the first four of each lie in the low six
// bits of bytes 0-3 and 4-7, whose high bits complete the nibbles of bytes 8-11.
struct ScaleAndMinimum {
  float scale, minimum;
};
inline ScaleAndMinimum scale_and_minimum(const std::byte* packed, int group) {
  const int a = byte_at(packed, group % 4);
  const int b = byte_at(packed, group % 4 + 4);
  if (group < 4) return {static_cast<float>(a & 63), static_cast<float>(b & 63)};
  const std::byte c = packed[group + 4];
  return {static_cast<float>(low_nibble(c) | a >> 6 << 4),
          static_cast<float>(high_nibble(c) | b >> 6 << 4)};
}

// f16 scale, f16 minimum, 12 bytes of group scales, 128 bytes of nibbles: scale * q - minimum. Two
// groups of 32 share 32 bytes.
struct Q4_K {
  static constexpr int kValues = 256, kBytes = 144;

  static void decode(const std::byte* block, float* out) {
    const float scale = load_f16(block);
    const float minimum = load_f16(block + 2);
    for (int group = 0; group < 8; ++group) {
      const ScaleAndMinimum own = scale_and_minimum(block + 4, group);
      const float group_scale = scale * own.scale;
      const float group_minimum = minimum * own.minimum;
      const std::byte* codes = block + 16 + group / 2 * 32;
      const int shift = group % 2 * 4;
      for (int i = 0; i < 32; ++i) {
        const int code = byte_at(codes, i) >> shift & 15;
        out[group * 32 + i] = group_scale * static_cast<float>(code) - group_minimum;
      }
    }
  }
};

// As Q4_K, with 32 bytes of fifth bits before the nibbles: bit g of byte i belongs to group g.
struct Q5_K {
  static constexpr int kValues = 256, kBytes = 176;

  static void decode(const std::byte* block, float* out) {
    const float scale = load_f16(block);
    const float minimum = load_f16(block + 2);
    const std::byte* high = block + 16;
    for (int group = 0; group < 8; ++group) {
      const ScaleAndMinimum own = scale_and_minimum(block + 4, group);
      const float group_scale = scale * own.scale;
      const float group_minimum = minimum * own.minimum;
      const std::byte* codes = block + 48 + group / 2 * 32;
      const int shift = group % 2 * 4;
      for (int i = 0; i < 32; ++i) {
        const int code = (byte_at(codes, i) >> shift & 15) | (byte_at(high, i) >> group & 1) << 4;
        out[group * 32 + i] = group_scale * static_cast<float>(code) - group_minimum;
      }
    }
  }
};

// 128 bytes of nibbles, 64 bytes of upper bit pairs, 16 signed scales, f16 scale:
// scale * s * (q - 32). A half of the block: 64 bytes of nibbles, 32 bytes of pairs.
struct Q6_K {
  static constexpr int kValues = 256, kBytes = 210;

  static void decode(const std::byte* block, float* out) {
    const float scale = load_f16(block + 208);
    const auto* scales = reinterpret_cast<const signed char*>(block + 192);
    for (int group = 0; group < 16; ++group) {
      const float factor = scale * static_cast<float>(scales[group]);
      const int half = group / 8;
      const int quarter = group % 8 / 2;
      const int place = group % 2 * 16;
      const std::byte* low = block + half * 64 + quarter % 2 * 32 + place;
      const std::byte* high = block + 128 + half * 32 + place;
      const int low_shift = quarter / 2 * 4;
      const int high_shift = quarter * 2;
      for (int i = 0; i < 16; ++i) {
        const int code = (byte_at(low, i) >> low_shift & 15) | (byte_at(high, i) >> high_shift & 3)
                                                                   << 4;
        out[group * 16 + i] = factor * static_cast<float>(code - 32);
      }
    }
  }
};

// f16 scale, eight 6-bit scales (two high bits each in a word, nibbles in 4 bytes), 128 bytes of
// nibbles that choose a non-linear level: scale * (s - 32) * level.
struct Iq4Xs {
  static constexpr int kValues = 256, kBytes = 136;

  static void decode(const std::byte* block, float* out) {
    const float scale = load_f16(block);
    const int high = byte_at(block, 2) | byte_at(block, 3) << 8;
    for (int group = 0; group < 8; ++group) {
      const int low = byte_at(block + 4, group / 2) >> (group % 2 * 4) & 15;
      const int own = (low | (high >> (group * 2) & 3) << 4) - 32;
      const float factor = scale * static_cast<float>(own);
      const std::byte* codes = block + 8 + group * 16;
      for (int i = 0; i < 16; ++i) {
        out[group * 32 + i] = factor * kNonLinear[low_nibble(codes[i])];
        out[group * 32 + i + 16] = factor * kNonLinear[high_nibble(codes[i])];
      }
    }
  }
};

}  // namespace linnet::blocks
