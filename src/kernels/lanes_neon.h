// Sixteen lanes in four registers: Advanced SIMD with dot products (Armv8.2).
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tensor/n4.h"

namespace linnet {
namespace {

struct NeonLanes {
  static constexpr int kTileRows = 3;
  static constexpr int kWidenRows = 3;
  static constexpr int kFewRows = 3;
  static constexpr int kGroupRows = 2;
  static constexpr int kAttendVectors = 1;
  static constexpr std::int32_t kZero = 0;

  struct F {
    float32x4_t q[4];
  };
  struct I {
    int32x4_t q[4];
  };
  struct W {
    int8x16_t q[4];
  };
  using A = int8x16_t;
  struct P {
    int8x8_t q[4];
  };
  using Q = int16x8_t;
  struct Scales {
    int16x8_t even[4], odd[4];
  };
  using Table = int8x16_t;
  using Levels = uint8x16x4_t;

#define LINNET_EACH(type, expression)                  \
  type out;                                            \
  for (int i = 0; i < 4; ++i) out.q[i] = (expression); \
  return out

  static F load(const float* from) { LINNET_EACH(F, vld1q_f32(from + 4 * i)); }
  static void store(float* to, F x) {
    for (int i = 0; i < 4; ++i) vst1q_f32(to + 4 * i, x.q[i]);
  }
  static F splat(float value) { LINNET_EACH(F, vdupq_n_f32(value)); }
  static F load_bf16(const std::uint16_t* from) {
    LINNET_EACH(F, vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(from + 4 * i), 16)));
  }
  static F load_f16(const std::uint16_t* from) {
    LINNET_EACH(F, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(from + 4 * i))));
  }
  static F add(F x, F y) { LINNET_EACH(F, vaddq_f32(x.q[i], y.q[i])); }
  static F sub(F x, F y) { LINNET_EACH(F, vsubq_f32(x.q[i], y.q[i])); }
  static F mul(F x, F y) { LINNET_EACH(F, vmulq_f32(x.q[i], y.q[i])); }
  static F div(F x, F y) { LINNET_EACH(F, vdivq_f32(x.q[i], y.q[i])); }
  static F fma(F x, F y, F z) { LINNET_EACH(F, vfmaq_f32(z.q[i], x.q[i], y.q[i])); }
  // vmaxq_f32 would give NaN; the second operand is what the others give.
  static F max(F x, F y) { LINNET_EACH(F, vbslq_f32(vcgtq_f32(x.q[i], y.q[i]), x.q[i], y.q[i])); }
  static F min(F x, F y) { LINNET_EACH(F, vbslq_f32(vcltq_f32(x.q[i], y.q[i]), x.q[i], y.q[i])); }
  static F times_power(F p, F t) {
    LINNET_EACH(F,
                vreinterpretq_f32_u32(vaddq_u32(vreinterpretq_u32_f32(p.q[i]),
                                                vshlq_n_u32(vreinterpretq_u32_f32(t.q[i]), 23))));
  }
  static F to_float(I x) { LINNET_EACH(F, vcvtq_f32_s32(x.q[i])); }

  static I splat_int(std::int32_t value) { LINNET_EACH(I, vdupq_n_s32(value)); }
  static I add_int(I x, I y) { LINNET_EACH(I, vaddq_s32(x.q[i], y.q[i])); }
  static I max_int(I x, I y) { LINNET_EACH(I, vmaxq_s32(x.q[i], y.q[i])); }
  static I magnitude(F x) {
    LINNET_EACH(I, vandq_s32(vreinterpretq_s32_f32(x.q[i]), vdupq_n_s32(0x7FFFFFFF)));
  }
  static I to_int(F x) { LINNET_EACH(I, vcvtnq_s32_f32(x.q[i])); }
  static I load_int(const std::int32_t* from) { LINNET_EACH(I, vld1q_s32(from + 4 * i)); }
  static void store_int(std::int32_t* to, I x) {
    for (int i = 0; i < 4; ++i) vst1q_s32(to + 4 * i, x.q[i]);
  }
  static I load_bytes(const std::int8_t* from) {
    const int8x16_t bytes = vld1q_s8(from);
    const int16x8_t low = vmovl_s8(vget_low_s8(bytes)), high = vmovl_s8(vget_high_s8(bytes));
    return {{vmovl_s16(vget_low_s16(low)), vmovl_s16(vget_high_s16(low)),
             vmovl_s16(vget_low_s16(high)), vmovl_s16(vget_high_s16(high))}};
  }
  static void store_bytes(std::int8_t* to, I x) {
    const int8x8_t low = vmovn_s16(vcombine_s16(vmovn_s32(x.q[0]), vmovn_s32(x.q[1])));
    const int8x8_t high = vmovn_s16(vcombine_s16(vmovn_s32(x.q[2]), vmovn_s32(x.q[3])));
    vst1q_s8(to, vcombine_s8(low, high));
  }

  static A splat_quad(const std::byte* from) {
    std::int32_t quad;
    std::memcpy(&quad, from, 4);
    return vreinterpretq_s8_s32(vdupq_n_s32(quad));
  }
  static W load_weights(const std::byte* from) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(from);
    LINNET_EACH(W, vreinterpretq_s8_u8(veorq_u8(vld1q_u8(bytes + 16 * i), vdupq_n_u8(0x80))));
  }
  static void store_weights(std::byte* to, W w) {
    auto* bytes = reinterpret_cast<std::uint8_t*>(to);
    for (int i = 0; i < 4; ++i) {
      vst1q_u8(bytes + 16 * i, veorq_u8(vreinterpretq_u8_s8(w.q[i]), vdupq_n_u8(0x80)));
    }
  }
  static I dot(I sum, W w, A a) { LINNET_EACH(I, vdotq_s32(sum.q[i], w.q[i], a)); }

  static P load_pairs(const std::byte* from) {
    const auto* bytes = reinterpret_cast<const std::int8_t*>(from);
    LINNET_EACH(P, vld1_s8(bytes + 8 * i));
  }
  static Q splat_pair(const std::int16_t* pair) {
    std::int32_t bits;
    std::memcpy(&bits, pair, 4);
    return vreinterpretq_s16_s32(vdupq_n_s32(bits));
  }
  static I dot_pairs(I sum, P p, Q both) {
    for (int i = 0; i < 4; ++i) {
      const int16x8_t wide = vmovl_s8(p.q[i]);
      const int32x4_t low = vmull_s16(vget_low_s16(wide), vget_low_s16(both));
      const int32x4_t high = vmull_s16(vget_high_s16(wide), vget_high_s16(both));
      sum.q[i] = vaddq_s32(sum.q[i], vpaddq_s32(low, high));
    }
    return sum;
  }
  static Scales load_scales(const std::byte* from) {
    const auto* scales = reinterpret_cast<const std::int8_t*>(from);
    Scales out;
    for (int i = 0; i < 4; ++i) {
      const std::int8_t* quad = scales + 4 * i;
      out.even[i] = vcombine_s16(vdup_n_s16(quad[0]), vdup_n_s16(quad[1]));
      out.odd[i] = vcombine_s16(vdup_n_s16(quad[2]), vdup_n_s16(quad[3]));
    }
    return out;
  }
  static void widen(const std::byte* from, Scales scales, W& low, W& high) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(from);
    for (int i = 0; i < 4; ++i) {
      const uint8x16_t codes = vld1q_u8(bytes + 16 * i);
      low.q[i] = level(vandq_u8(codes, vdupq_n_u8(15)), scales.even[i], scales.odd[i]);
      high.q[i] = level(vshrq_n_u8(codes, 4), scales.even[i], scales.odd[i]);
    }
  }
  // Four times the code, as a signed byte, is made of its nibble and of its two upper bits.
  static void widen6(const std::byte* from, Scales scales, W (&out)[4]) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(from);
    for (int i = 0; i < 4; ++i) {
      const uint8x16_t a = vld1q_u8(bytes + 16 * i), b = vld1q_u8(bytes + 64 + 16 * i);
      const uint8x16_t top = vld1q_u8(bytes + 128 + 16 * i);
      const int16x8_t even = scales.even[i], odd = scales.odd[i];
      out[0].q[i] = scaled(join6(vshlq_n_u8(a, 2), vshlq_n_u8(top, 6)), even, odd);
      out[1].q[i] = scaled(join6(vshrq_n_u8(a, 2), vshlq_n_u8(top, 4)), even, odd);
      out[2].q[i] = scaled(join6(vshlq_n_u8(b, 2), vshlq_n_u8(top, 2)), even, odd);
      out[3].q[i] = scaled(join6(vshrq_n_u8(b, 2), top), even, odd);
    }
  }
  static Table load_table(const std::int8_t* levels) { return vld1q_s8(levels); }
  static void look_up(const std::byte* from, Table table, W& low, W& high) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(from);
    for (int i = 0; i < 4; ++i) {
      const uint8x16_t codes = vld1q_u8(bytes + 16 * i);
      low.q[i] = vqtbl1q_s8(table, vandq_u8(codes, vdupq_n_u8(15)));
      high.q[i] = vqtbl1q_s8(table, vshrq_n_u8(codes, 4));
    }
  }
#undef LINNET_EACH
  static Levels load_levels(const float* levels) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(levels);
    return {{vld1q_u8(bytes), vld1q_u8(bytes + 16), vld1q_u8(bytes + 32), vld1q_u8(bytes + 48)}};
  }
  static void choose_levels(const std::byte* from, Levels levels, F& low, F& high) {
    const uint8x16_t codes = vld1q_u8(reinterpret_cast<const std::uint8_t*>(from));
    const Words low_codes = widen_bytes(vandq_u8(codes, vdupq_n_u8(15)));
    const Words high_codes = widen_bytes(vshrq_n_u8(codes, 4));
    for (int i = 0; i < 4; ++i) {
      low.q[i] = chosen(low_codes.q[i], levels);
      high.q[i] = chosen(high_codes.q[i], levels);
    }
  }
  static F load_e4m3(const std::byte* from) {
    const Words codes = widen_bytes(vld1q_u8(reinterpret_cast<const std::uint8_t*>(from)));
    F out;
    for (int i = 0; i < 4; ++i) {
      const uint32x4_t sign = vshlq_n_u32(vandq_u32(codes.q[i], vdupq_n_u32(0x80)), 24);
      const uint32x4_t rest = vshlq_n_u32(vandq_u32(codes.q[i], vdupq_n_u32(0x7F)), 20);
      out.q[i] = vmulq_n_f32(vreinterpretq_f32_u32(vorrq_u32(sign, rest)), 0x1p120f);
    }
    return out;
  }

 private:
  struct Words {
    uint32x4_t q[4];
  };
  static Words widen_bytes(uint8x16_t bytes) {
    const uint16x8_t low = vmovl_u8(vget_low_u8(bytes)), high = vmovl_u8(vget_high_u8(bytes));
    return {{vmovl_u16(vget_low_u16(low)), vmovl_u16(vget_high_u16(low)),
             vmovl_u16(vget_low_u16(high)), vmovl_u16(vget_high_u16(high))}};
  }
  // The four bytes of level c are the bytes 4c to 4c + 3 of the table.
  static float32x4_t chosen(uint32x4_t codes, Levels levels) {
    const uint32x4_t bytes = vmlaq_n_u32(vdupq_n_u32(0x03020100), codes, 0x04040404);
    return vreinterpretq_f32_u8(vqtbl4q_u8(levels, vreinterpretq_u8_u32(bytes)));
  }
  static int8x16_t level(uint8x16_t codes, int16x8_t even_scales, int16x8_t odd_scales) {
    return scaled(vqtbl1q_s8(vld1q_s8(kN4Levels), codes), even_scales, odd_scales);
  }
  static int8x16_t join6(uint8x16_t nibbles, uint8x16_t top) {
    const uint8x16_t low = vandq_u8(nibbles, vdupq_n_u8(0x3C));
    const uint8x16_t high = vandq_u8(top, vdupq_n_u8(0xC0));
    return vreinterpretq_s8_u8(veorq_u8(vorrq_u8(low, high), vdupq_n_u8(0x80)));
  }
  // levels * scales / 128, rounded, in the order of the outputs.
  static int8x16_t scaled(int8x16_t bytes, int16x8_t even_scales, int16x8_t odd_scales) {
    const int16x8_t levels = vreinterpretq_s16_s8(bytes);
    const int16x8_t even = vqrdmulhq_s16(vshlq_n_s16(levels, 8), even_scales);
    const int16x8_t odd = vqrdmulhq_s16(
        vandq_s16(levels, vdupq_n_s16(static_cast<std::int16_t>(0xFF00))), odd_scales);
    return vcombine_s8(vmovn_s16(even), vmovn_s16(odd));
  }
};

}  // namespace
}  // namespace linnet
