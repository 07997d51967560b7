// Sixteen lanes in two registers: AVX2 and FMA.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tensor/n4.h"

namespace linnet {
namespace {

struct Avx2Lanes {
  static constexpr int kTileRows = 3;
  static constexpr int kWidenRows = 3;
  static constexpr int kFewRows = 3;
  static constexpr int kGroupRows = 2;
  static constexpr int kAttendVectors = 1;
  static constexpr std::int32_t kZero = 0;

  struct F {
    __m256 a, b;
  };
  struct I {
    __m256i a, b;
  };
  using W = I;  // int8
  using A = __m256i;
  using P = I;  // int16
  using Q = __m256i;
  struct Scales {
    I even, odd;
  };
  using Table = __m256i;
  struct Levels {
    __m256 first, last;
  };

  static F load(const float* from) { return {_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8)}; }
  static void store(float* to, F x) {
    _mm256_storeu_ps(to, x.a);
    _mm256_storeu_ps(to + 8, x.b);
  }
  static F splat(float value) { return {_mm256_set1_ps(value), _mm256_set1_ps(value)}; }
  static F load_bf16(const std::uint16_t* from) { return {widen_bf16(from), widen_bf16(from + 8)}; }
  static F load_f16(const std::uint16_t* from) { return {widen_f16(from), widen_f16(from + 8)}; }
  static F add(F x, F y) { return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)}; }
  static F sub(F x, F y) { return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)}; }
  static F mul(F x, F y) { return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
  static F div(F x, F y) { return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)}; }
  static F fma(F x, F y, F z) {
    return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
  }
  static F max(F x, F y) { return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)}; }
  static F min(F x, F y) { return {_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)}; }
  static F times_power(F p, F t) { return {power(p.a, t.a), power(p.b, t.b)}; }
  static F to_float(I x) { return {_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)}; }

  static I splat_int(std::int32_t value) {
    return {_mm256_set1_epi32(value), _mm256_set1_epi32(value)};
  }
  static I add_int(I x, I y) { return {_mm256_add_epi32(x.a, y.a), _mm256_add_epi32(x.b, y.b)}; }
  static I max_int(I x, I y) { return {_mm256_max_epi32(x.a, y.a), _mm256_max_epi32(x.b, y.b)}; }
  static I magnitude(F x) {
    const __m256i mask = _mm256_set1_epi32(0x7FFFFFFF);
    return {_mm256_and_si256(_mm256_castps_si256(x.a), mask),
            _mm256_and_si256(_mm256_castps_si256(x.b), mask)};
  }
  static I to_int(F x) { return {_mm256_cvtps_epi32(x.a), _mm256_cvtps_epi32(x.b)}; }
  static I load_int(const std::int32_t* from) {
    const auto* halves = reinterpret_cast<const __m256i*>(from);
    return {_mm256_loadu_si256(halves), _mm256_loadu_si256(halves + 1)};
  }
  static void store_int(std::int32_t* to, I x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), x.a);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 8), x.b);
  }
  static I load_bytes(const std::int8_t* from) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return {_mm256_cvtepi8_epi32(bytes), _mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8))};
  }
  static void store_bytes(std::int8_t* to, I x) {
    std::int32_t lanes[16];
    store_int(lanes, x);
    for (int i = 0; i < 16; ++i) to[i] = static_cast<std::int8_t>(lanes[i]);
  }

  static A splat_quad(const std::byte* from) {
    std::int32_t quad;
    std::memcpy(&quad, from, 4);
    return _mm256_set1_epi32(quad);
  }
  static W load_weights(const std::byte* from) {
    const __m256i zero = _mm256_set1_epi8(static_cast<char>(0x80));
    return {_mm256_xor_si256(load_half(from), zero), _mm256_xor_si256(load_half(from + 32), zero)};
  }
  static void store_weights(std::byte* to, W w) {
    const __m256i zero = _mm256_set1_epi8(static_cast<char>(0x80));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_xor_si256(w.a, zero));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 32), _mm256_xor_si256(w.b, zero));
  }
  static I dot(I sum, W w, A a) {
    return {_mm256_add_epi32(sum.a, products(w.a, a)), _mm256_add_epi32(sum.b, products(w.b, a))};
  }

  static P load_pairs(const std::byte* from) {
    const auto* halves = reinterpret_cast<const __m128i*>(from);
    return {_mm256_cvtepi8_epi16(_mm_loadu_si128(halves)),
            _mm256_cvtepi8_epi16(_mm_loadu_si128(halves + 1))};
  }
  static Q splat_pair(const std::int16_t* pair) {
    std::int32_t bits;
    std::memcpy(&bits, pair, 4);
    return _mm256_set1_epi32(bits);
  }
  static I dot_pairs(I sum, P p, Q both) {
    return {_mm256_add_epi32(sum.a, _mm256_madd_epi16(p.a, both)),
            _mm256_add_epi32(sum.b, _mm256_madd_epi16(p.b, both))};
  }
  static Scales load_scales(const std::byte* from) {
    const __m256i scales =
        _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    const __m256i first = _mm256_set_epi32(0x05800580, 0x05800580, 0x04800480, 0x04800480,
                                           0x01800180, 0x01800180, 0x00800080, 0x00800080);
    return {{words(scales, first, 0x0000), words(scales, first, 0x0800)},
            {words(scales, first, 0x0200), words(scales, first, 0x0A00)}};
  }
  static void widen(const std::byte* from, Scales scales, W& low, W& high) {
    const __m256i mask = _mm256_set1_epi8(15);
    const __m256i a = load_half(from), b = load_half(from + 32);
    low = {level(_mm256_and_si256(a, mask), scales.even.a, scales.odd.a),
           level(_mm256_and_si256(b, mask), scales.even.b, scales.odd.b)};
    high = {level(_mm256_and_si256(_mm256_srli_epi16(a, 4), mask), scales.even.a, scales.odd.a),
            level(_mm256_and_si256(_mm256_srli_epi16(b, 4), mask), scales.even.b, scales.odd.b)};
  }
  // Four times the code, as a signed byte, is made of its nibble and of its two upper bits.
  static void widen6(const std::byte* from, Scales scales, W (&out)[4]) {
    const I a = load_codes(from), b = load_codes(from + 64), top = load_codes(from + 128);
    out[0] = both6(shifted<2>(a), shifted<6>(top), scales);
    out[1] = both6(shifted<-2>(a), shifted<4>(top), scales);
    out[2] = both6(shifted<2>(b), shifted<2>(top), scales);
    out[3] = both6(shifted<-2>(b), top, scales);
  }
  static Table load_table(const std::int8_t* levels) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(levels)));
  }
  static void look_up(const std::byte* from, Table table, W& low, W& high) {
    const __m256i mask = _mm256_set1_epi8(15);
    const __m256i a = load_half(from), b = load_half(from + 32);
    low = {_mm256_shuffle_epi8(table, _mm256_and_si256(a, mask)),
           _mm256_shuffle_epi8(table, _mm256_and_si256(b, mask))};
    high = {_mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(a, 4), mask)),
            _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(b, 4), mask))};
  }
  static Levels load_levels(const float* levels) {
    return {_mm256_loadu_ps(levels), _mm256_loadu_ps(levels + 8)};
  }
  static void choose_levels(const std::byte* from, Levels levels, F& low, F& high) {
    const __m128i codes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    const __m256i a = _mm256_cvtepu8_epi32(codes);
    const __m256i b = _mm256_cvtepu8_epi32(_mm_srli_si128(codes, 8));
    low = {chosen(a, levels), chosen(b, levels)};
    high = {chosen(_mm256_srli_epi32(a, 4), levels), chosen(_mm256_srli_epi32(b, 4), levels)};
  }
  static F load_e4m3(const std::byte* from) {
    const __m128i codes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return {e4m3(_mm256_cvtepi8_epi32(codes)),
            e4m3(_mm256_cvtepi8_epi32(_mm_srli_si128(codes, 8)))};
  }

 private:
  // The low three bits of a code choose within each half of the levels, the fourth the half.
  static __m256 chosen(__m256i codes, Levels levels) {
    const __m256 half = _mm256_castsi256_ps(_mm256_slli_epi32(codes, 28));
    return _mm256_blendv_ps(_mm256_permutevar8x32_ps(levels.first, codes),
                            _mm256_permutevar8x32_ps(levels.last, codes), half);
  }
  static __m256 e4m3(__m256i codes) {
    const __m256i bits = _mm256_and_si256(_mm256_slli_epi32(codes, 20),
                                          _mm256_set1_epi32(static_cast<int>(0x87F00000)));
    return _mm256_mul_ps(_mm256_castsi256_ps(bits), _mm256_set1_ps(0x1p120f));
  }
  // Without F16C, which a processor with AVX2 need not have.
  static __m256 widen_f16(const std::uint16_t* from) {
    const __m256i bits =
        _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    const __m256i rest = _mm256_and_si256(bits, _mm256_set1_epi32(0x7FFF));
    const __m256i sign = _mm256_slli_epi32(_mm256_sub_epi32(bits, rest), 16);
    const __m256i small =
        _mm256_castps_si256(_mm256_mul_ps(_mm256_cvtepi32_ps(rest), _mm256_set1_ps(0x1p-24f)));
    const __m256i bias = _mm256_set1_epi32(112 << 23);
    const __m256i above =
        _mm256_and_si256(bias, _mm256_cmpgt_epi32(rest, _mm256_set1_epi32(0x7BFF)));
    const __m256i normal =
        _mm256_add_epi32(_mm256_add_epi32(_mm256_slli_epi32(rest, 13), bias), above);
    const __m256i is_small = _mm256_cmpgt_epi32(_mm256_set1_epi32(0x0400), rest);
    return _mm256_castsi256_ps(_mm256_or_si256(_mm256_blendv_epi8(normal, small, is_small), sign));
  }
  static __m256i load_half(const std::byte* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  static __m256 widen_bf16(const std::uint16_t* from) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  }
  static __m256 power(__m256 p, __m256 t) {
    return _mm256_castsi256_ps(
        _mm256_add_epi32(_mm256_castps_si256(p), _mm256_slli_epi32(_mm256_castps_si256(t), 23)));
  }
  // Sums of four products. No pair overflows 16 bits: both factors are at most 127 in magnitude.
  static __m256i products(__m256i w, __m256i a) {
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(a, w));
    return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
  }
  static __m256i words(__m256i scales, __m256i first, short offset) {
    const __m256i index = _mm256_add_epi8(first, _mm256_set1_epi16(offset));
    return _mm256_srai_epi16(_mm256_shuffle_epi8(scales, index), 8);
  }
  static __m256i level(__m256i codes, __m256i even_scales, __m256i odd_scales) {
    const __m256i table =
        _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(kN4Levels)));
    return scaled(_mm256_shuffle_epi8(table, codes), even_scales, odd_scales);
  }
  static I load_codes(const std::byte* from) { return {load_half(from), load_half(from + 32)}; }
  template <int kBits>
  static I shifted(I x) {
    if constexpr (kBits < 0) {
      return {_mm256_srli_epi16(x.a, -kBits), _mm256_srli_epi16(x.b, -kBits)};
    } else {
      return {_mm256_slli_epi16(x.a, kBits), _mm256_slli_epi16(x.b, kBits)};
    }
  }
  static W both6(I nibbles, I top, Scales scales) {
    return {scaled(join6(nibbles.a, top.a), scales.even.a, scales.odd.a),
            scaled(join6(nibbles.b, top.b), scales.even.b, scales.odd.b)};
  }
  static __m256i join6(__m256i nibbles, __m256i top) {
    const __m256i low = _mm256_and_si256(nibbles, _mm256_set1_epi8(0x3C));
    const __m256i high = _mm256_and_si256(top, _mm256_set1_epi8(static_cast<char>(0xC0)));
    return _mm256_xor_si256(_mm256_or_si256(low, high), _mm256_set1_epi8(static_cast<char>(0x80)));
  }
  // levels * scales / 128, rounded, in the order of the outputs.
  static __m256i scaled(__m256i levels, __m256i even_scales, __m256i odd_scales) {
    const __m256i even = _mm256_mulhrs_epi16(_mm256_slli_epi16(levels, 8), even_scales);
    const __m256i odd = _mm256_mulhrs_epi16(
        _mm256_and_si256(levels, _mm256_set1_epi16(static_cast<short>(0xFF00))), odd_scales);
    return _mm256_packs_epi16(even, odd);
  }
};

}  // namespace
}  // namespace linnet
