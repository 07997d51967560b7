// Sixteen lanes in plain C++: the definition of what the lanes of every instruction set do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tensor/n4.h"
#include "tensor/s6.h"

namespace linnet {
namespace {

struct ScalarLanes {
  static constexpr int kTileRows = 1;
  static constexpr int kWidenRows = 1;
  static constexpr int kFewRows = 1;
  static constexpr int kGroupRows = 1;
  static constexpr int kAttendVectors = 1;
  static constexpr std::int32_t kZero = 0;

  struct F {
    float lane[16];
  };
  struct I {
    std::int32_t lane[16];
  };
  struct W {
    std::int8_t byte[64];
  };
  struct A {
    std::int8_t byte[4];
  };
  struct P {
    std::int8_t byte[32];
  };
  struct Q {
    std::int16_t word[2];
  };
  struct Scales {
    const std::int8_t* scale;
  };
  using Table = const std::int8_t*;
  using Levels = const float*;

#define LINNET_EACH(expression)                            \
  F out;                                                   \
  for (int i = 0; i < 16; ++i) out.lane[i] = (expression); \
  return out

  static F load(const float* from) {
    F out;
    std::memcpy(out.lane, from, sizeof out.lane);
    return out;
  }
  static void store(float* to, F a) { std::memcpy(to, a.lane, sizeof a.lane); }
  static F splat(float value) { LINNET_EACH(value); }
  static F load_bf16(const std::uint16_t* from) {
    LINNET_EACH(__builtin_bit_cast(float, static_cast<std::uint32_t>(from[i]) << 16));
  }
  static F load_f16(const std::uint16_t* from) { LINNET_EACH(f16_number(from[i])); }
  static F add(F a, F b) { LINNET_EACH(a.lane[i] + b.lane[i]); }
  static F sub(F a, F b) { LINNET_EACH(a.lane[i] - b.lane[i]); }
  static F mul(F a, F b) { LINNET_EACH(a.lane[i] * b.lane[i]); }
  static F div(F a, F b) { LINNET_EACH(a.lane[i] / b.lane[i]); }
  static F fma(F a, F b, F c) { LINNET_EACH(__builtin_fmaf(a.lane[i], b.lane[i], c.lane[i])); }
  // b where a is NaN, as the processors do.
  static F max(F a, F b) { LINNET_EACH(a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]); }
  static F min(F a, F b) { LINNET_EACH(a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]); }
  // p * 2^n for the whole number n that the low bits of t hold (see exponential).
  static F times_power(F p, F t) {
    LINNET_EACH(
        __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, p.lane[i]) +
                                      (__builtin_bit_cast(std::uint32_t, t.lane[i]) << 23)));
  }
  static F to_float(I a) { LINNET_EACH(static_cast<float>(a.lane[i])); }
#undef LINNET_EACH

  static I splat_int(std::int32_t value) {
    I out;
    for (int i = 0; i < 16; ++i) out.lane[i] = value;
    return out;
  }
  static I add_int(I a, I b) {
    for (int i = 0; i < 16; ++i) a.lane[i] += b.lane[i];
    return a;
  }
  static I max_int(I a, I b) {
    for (int i = 0; i < 16; ++i) a.lane[i] = a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i];
    return a;
  }
  // The bits without the sign: as numbers they are in the order of the magnitudes, NaN last.
  static I magnitude(F a) {
    I out;
    for (int i = 0; i < 16; ++i) {
      out.lane[i] =
          static_cast<std::int32_t>(__builtin_bit_cast(std::uint32_t, a.lane[i]) & 0x7FFFFFFFu);
    }
    return out;
  }
  // To the nearest whole number, ties to even; |a| < 2^22.
  static I to_int(F a) {
    I out;
    for (int i = 0; i < 16; ++i) {
      const float t = a.lane[i] + 12582912.0f;  // 1.5 * 2^23
      out.lane[i] = __builtin_bit_cast(std::int32_t, t) - 0x4B400000;
    }
    return out;
  }
  static I load_int(const std::int32_t* from) {
    I out;
    std::memcpy(out.lane, from, sizeof out.lane);
    return out;
  }
  static void store_int(std::int32_t* to, I a) { std::memcpy(to, a.lane, sizeof a.lane); }
  static I load_bytes(const std::int8_t* from) {
    I out;
    for (int i = 0; i < 16; ++i) out.lane[i] = from[i];
    return out;
  }
  static void store_bytes(std::int8_t* to, I a) {
    for (int i = 0; i < 16; ++i) to[i] = static_cast<std::int8_t>(a.lane[i]);
  }

  static A splat_quad(const std::byte* from) {
    A out;
    std::memcpy(out.byte, from, 4);
    return out;
  }
  static W load_weights(const std::byte* from) {
    W out;
    for (int i = 0; i < 64; ++i) {
      out.byte[i] = static_cast<std::int8_t>(static_cast<int>(from[i]) - 128);
    }
    return out;
  }
  static void store_weights(std::byte* to, W w) {
    for (int i = 0; i < 64; ++i) to[i] = static_cast<std::byte>(w.byte[i] + 128);
  }
  static I dot(I sum, W w, A a) {
    for (int i = 0; i < 64; ++i) sum.lane[i / 4] += w.byte[i] * a.byte[i % 4];
    return sum;
  }
  // int8 values of sixteen lanes by two positions, and their products with two int16 numbers.
  static P load_pairs(const std::byte* from) {
    P out;
    std::memcpy(out.byte, from, sizeof out.byte);
    return out;
  }
  static Q splat_pair(const std::int16_t* pair) { return {{pair[0], pair[1]}}; }
  static I dot_pairs(I sum, P p, Q both) {
    for (int i = 0; i < 32; ++i) sum.lane[i / 2] += p.byte[i] * both.word[i % 2];
    return sum;
  }
  static Scales load_scales(const std::byte* from) {
    return {reinterpret_cast<const std::int8_t*>(from)};
  }
  // Sixteen outputs times eight inputs of 4-bit codes; see N4 in packed_matrix.h.
  static void widen(const std::byte* from, Scales scales, W& low, W& high) {
    for (int i = 0; i < 64; ++i) {
      const int lane = i / 16, word = i % 16 / 2, odd = i % 2;
      const int output = 4 * lane + 2 * odd + word / 4;
      const int to = 4 * output + word % 4;
      const int code = static_cast<int>(from[i]);
      low.byte[to] = n4_byte(code & 15, scales.scale[output]);
      high.byte[to] = n4_byte(code >> 4, scales.scale[output]);
    }
  }
  // The same of 6-bit codes: sixteen outputs times sixteen inputs; see S6.
  static void widen6(const std::byte* from, Scales scales, W (&out)[4]) {
    for (int i = 0; i < 64; ++i) {
      const int lane = i / 16, word = i % 16 / 2, odd = i % 2;
      const int output = 4 * lane + 2 * odd + word / 4;
      const int to = 4 * output + word % 4;
      for (int part = 0; part < 4; ++part) {
        const int low = static_cast<int>(from[part / 2 * 64 + i]) >> (part % 2 * 4) & 15;
        const int high = static_cast<int>(from[128 + i]) >> (2 * part) & 3;
        out[part].byte[to] = s6_byte((low | high << 4) - 32, scales.scale[output]);
      }
    }
  }
  // The levels that the codes of sixteen outputs times eight inputs choose.
  static Table load_table(const std::int8_t* levels) { return levels; }
  static void look_up(const std::byte* from, Table table, W& low, W& high) {
    for (int i = 0; i < 64; ++i) {
      const int code = static_cast<int>(from[i]);
      low.byte[i] = table[code & 15];
      high.byte[i] = table[code >> 4];
    }
  }
  // Sixteen bytes with the codes of two inputs: the levels of the low and of the high four bits.
  static Levels load_levels(const float* levels) { return levels; }
  static void choose_levels(const std::byte* from, Levels levels, F& low, F& high) {
    for (int i = 0; i < 16; ++i) {
      const int code = static_cast<int>(from[i]);
      low.lane[i] = levels[code & 15];
      high.lane[i] = levels[code >> 4];
    }
  }
  // E4M3 but for its NaN, which comes out as 480: the bits in their places within an f32, whose
  // exponent is then 120 too small.
  static F load_e4m3(const std::byte* from) {
    F out;
    for (int i = 0; i < 16; ++i) {
      const auto code = static_cast<std::uint32_t>(from[i]);
      const std::uint32_t bits = (code & 0x80u) << 24 | (code & 0x7Fu) << 20;
      out.lane[i] = __builtin_bit_cast(float, bits) * 0x1p120f;
    }
    return out;
  }

 private:
  static float f16_number(std::uint16_t half) {
    const std::uint32_t sign = (half & 0x8000u) << 16, rest = half & 0x7FFFu;
    if (rest < 0x0400u) {
      const float small = static_cast<float>(rest) * 0x1p-24f;
      return __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, small) | sign);
    }
    const std::uint32_t bias = rest < 0x7C00u ? 112u << 23 : 224u << 23;
    return __builtin_bit_cast(float, ((rest << 13) + bias) | sign);
  }
};

}  // namespace
}  // namespace linnet
