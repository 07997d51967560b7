// The blocks of 256 values ("K" formats and IQ4_XS): groups of 16 or 32 values have small integer
// scales of their own, which multiply one f16 scale of the block. Reading only.
#pragma once

#include "tensor/blocks_32.h"

namespace linnet::blocks {

// 16 bytes of scale nibbles (low: scale, high: minimum), 64 bytes of 2-bit codes, f16 scales of
// both: scale * q - minimum. A half of the block takes 32 code bytes, four codes from each.
struct Q2_K {
  static constexpr int kValues = 256, kBytes = 84, kGroup = 16;
  static constexpr bool kHasBias = true;
  static constexpr const std::int8_t* kLevels = kAscending;

  static void read(const std::byte* block, Parts& parts) {
    parts.scale = load_f16(block + 80);
    parts.bias = -load_f16(block + 82);
    for (int group = 0; group < 16; ++group) {
      parts.factor[group] = to_byte(low_nibble(block[group]));
      parts.bias_factor[group] = to_byte(high_nibble(block[group]));
      const std::byte* codes = block + 16 + group / 8 * 32 + group % 2 * 16;
      const int shift = group % 8 / 2 * 2;
      for (int i = 0; i < 16; ++i) {
        parts.level[group * 16 + i] = to_byte(byte_at(codes, i) >> shift & 3);
      }
    }
  }
};

// 32 bytes of high bits, 64 bytes of 2-bit codes, sixteen 6-bit scales in 12 bytes, f16 scale:
// scale * (s - 32) * (q - 4), where the high bit gives the 4.
struct Q3_K {
  static constexpr int kValues = 256, kBytes = 110, kGroup = 16;
  static constexpr bool kHasBias = false;
  static constexpr const std::int8_t* kLevels = kCentred;

  static int group_scale(const std::byte* packed, int group) {
    const std::byte low = packed[group % 8];
    const int high = byte_at(packed, 8 + group % 4) >> (group / 4 * 2) & 3;
    return ((group < 8 ? low_nibble(low) : high_nibble(low)) | high << 4) - 32;
  }

  static void read(const std::byte* block, Parts& parts) {
    parts.scale = load_f16(block + 108);
    for (int group = 0; group < 16; ++group) {
      parts.factor[group] = to_byte(group_scale(block + 96, group));
      const std::byte* high = block + group % 2 * 16;
      const std::byte* codes = block + 32 + group / 8 * 32 + group % 2 * 16;
      const int shift = group % 8 / 2 * 2;
      const int bit = group / 2;
      for (int i = 0; i < 16; ++i) {
        const int code = (byte_at(codes, i) >> shift & 3) + (byte_at(high, i) >> bit & 1) * 4 - 4;
        parts.level[group * 16 + i] = to_byte(code);
      }
    }
  }
};

// Eight 6-bit scales and eight 6-bit minima in 12 bytes: the first four of each lie in the low six
// bits of bytes 0-3 and 4-7, whose high bits complete the nibbles of bytes 8-11.
inline void read_scales_and_minima(const std::byte* packed, Parts& parts) {
  for (int group = 0; group < 4; ++group) {
    const int a = byte_at(packed, group);
    const int b = byte_at(packed, group + 4);
    const std::byte c = packed[group + 8];
    parts.factor[group] = to_byte(a & 63);
    parts.bias_factor[group] = to_byte(b & 63);
    parts.factor[group + 4] = to_byte(low_nibble(c) | a >> 6 << 4);
    parts.bias_factor[group + 4] = to_byte(high_nibble(c) | b >> 6 << 4);
  }
}

// f16 scale, f16 minimum, 12 bytes of group scales, 128 bytes of nibbles: scale * q - minimum. Two
// groups of 32 share 32 bytes.
struct Q4_K {
  static constexpr int kValues = 256, kBytes = 144, kGroup = 32;
  static constexpr bool kHasBias = true;
  static constexpr const std::int8_t* kLevels = kAscending;

  static void read(const std::byte* block, Parts& parts) {
    parts.scale = load_f16(block);
    parts.bias = -load_f16(block + 2);
    read_scales_and_minima(block + 4, parts);
    for (int group = 0; group < 8; ++group) {
      const std::byte* codes = block + 16 + group / 2 * 32;
      const int shift = group % 2 * 4;
      for (int i = 0; i < 32; ++i) {
        parts.level[group * 32 + i] = to_byte(byte_at(codes, i) >> shift & 15);
      }
    }
  }
};

// As Q4_K, with 32 bytes of fifth bits before the nibbles: bit g of byte i belongs to group g.
struct Q5_K {
  static constexpr int kValues = 256, kBytes = 176, kGroup = 32;
  static constexpr bool kHasBias = true;
  static constexpr const std::int8_t* kLevels = nullptr;

  static void read(const std::byte* block, Parts& parts) {
    parts.scale = load_f16(block);
    parts.bias = -load_f16(block + 2);
    read_scales_and_minima(block + 4, parts);
    const std::byte* high = block + 16;
    for (int group = 0; group < 8; ++group) {
      const std::byte* codes = block + 48 + group / 2 * 32;
      const int shift = group % 2 * 4;
      for (int i = 0; i < 32; ++i) {
        const int code = (byte_at(codes, i) >> shift & 15) | (byte_at(high, i) >> group & 1) << 4;
        parts.level[group * 32 + i] = to_byte(code);
      }
    }
  }
};

// 128 bytes of nibbles, 64 bytes of upper bit pairs, 16 signed scales, f16 scale:
// scale * s * (q - 32). A half of the block: 64 bytes of nibbles, 32 bytes of pairs.
struct Q6_K {
  static constexpr int kValues = 256, kBytes = 210, kGroup = 16;
  static constexpr bool kHasBias = false;
  static constexpr const std::int8_t* kLevels = nullptr;

  static void read(const std::byte* block, Parts& parts) {
    parts.scale = load_f16(block + 208);
    std::memcpy(parts.factor, block + 192, 16);
    for (int group = 0; group < 16; ++group) {
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
        parts.level[group * 16 + i] = to_byte(code - 32);
      }
    }
  }
};

// f16 scale, eight 6-bit scales (two high bits each in a word, nibbles in 4 bytes), 128 bytes of
// nibbles that choose a non-linear level: scale * (s - 32) * level.
struct Iq4Xs {
  static constexpr int kValues = 256, kBytes = 136, kGroup = 32;
  static constexpr bool kHasBias = false;
  static constexpr const std::int8_t* kLevels = kNonLinear;

  static void read(const std::byte* block, Parts& parts) {
    parts.scale = load_f16(block);
    const int high = byte_at(block, 2) | byte_at(block, 3) << 8;
    for (int group = 0; group < 8; ++group) {
      const int low = byte_at(block + 4, group / 2) >> (group % 2 * 4) & 15;
      parts.factor[group] = to_byte((low | (high >> (group * 2) & 3) << 4) - 32);
      read_nibbles(block + 8 + group * 16, kLevels, parts.level + group * 32);
    }
  }
};

}  // namespace linnet::blocks
