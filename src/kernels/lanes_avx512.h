// Sixteen lanes in one register: AVX-512 F, BW, DQ, VL and VNNI.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "tensor/n4.h"

namespace linnet {
namespace {

struct Avx512Lanes {
  static constexpr int kTileRows = 12;
  static constexpr int kWidenRows = 8;
  static constexpr int kFewRows = 24;
  static constexpr int kGroupRows = 6;
  static constexpr int kAttendVectors = 4;
  // vpdpbusd multiplies unsigned weights: they are kept 128 too large, and the sums start lower.
  static constexpr std::int32_t kZero = 128;

  using F = __m512;
  using I = __m512i;
  using W = __m512i;
  using A = __m512i;
  using P = __m512i;
  using Q = __m512i;
  struct Scales {
    __m512i even, odd;  // int16, one per two bytes of a vector of codes
  };
  using Table = __m512i;
  using Levels = __m512;

  static F load(const float* from) { return _mm512_loadu_ps(from); }
  static void store(float* to, F a) { _mm512_storeu_ps(to, a); }
  static F splat(float value) { return _mm512_set1_ps(value); }
  static F load_bf16(const std::uint16_t* from) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  }
  static F load_f16(const std::uint16_t* from) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
  static F add(F a, F b) { return _mm512_add_ps(a, b); }
  static F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static F div(F a, F b) { return _mm512_div_ps(a, b); }
  static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  static F max(F a, F b) { return _mm512_max_ps(a, b); }
  static F min(F a, F b) { return _mm512_min_ps(a, b); }
  static float max_across(F a) { return _mm512_reduce_max_ps(a); }
  static F times_power(F p, F t) {
    return _mm512_castsi512_ps(
        _mm512_add_epi32(_mm512_castps_si512(p), _mm512_slli_epi32(_mm512_castps_si512(t), 23)));
  }
  static F to_float(I a) { return _mm512_cvtepi32_ps(a); }

  static I splat_int(std::int32_t value) { return _mm512_set1_epi32(value); }
  static I add_int(I a, I b) { return _mm512_add_epi32(a, b); }
  static I max_int(I a, I b) { return _mm512_max_epi32(a, b); }
  static I magnitude(F a) {
    return _mm512_and_si512(_mm512_castps_si512(a), _mm512_set1_epi32(0x7FFFFFFF));
  }
  static I to_int(F a) { return _mm512_cvtps_epi32(a); }
  static I load_int(const std::int32_t* from) { return _mm512_loadu_si512(from); }
  static void store_int(std::int32_t* to, I a) { _mm512_storeu_si512(to, a); }
  static I load_bytes(const std::int8_t* from) {
    return _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  static void store_bytes(std::int8_t* to, I a) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(a));
  }

  // These two by hand: from intrinsics GCC 12 makes all broadcasts of a tile first and then spills
  // the sums. Volatile keeps them in the order in which they are written.
  static A splat_quad(const std::byte* from) {
    A quad;
    asm volatile("vpbroadcastd %1, %0" : "=v"(quad) : "m"(*from), "m"(from[3]));
    return quad;
  }
  static W load_weights(const std::byte* from) { return _mm512_loadu_si512(from); }
  static void store_weights(std::byte* to, W w) { _mm512_storeu_si512(to, w); }
  static I dot(I sum, W w, A a) {
    asm volatile("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(w), "v"(a));
    return sum;
  }

  static P load_pairs(const std::byte* from) {
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
  static Q splat_pair(const std::int16_t* pair) {
    return splat_quad(reinterpret_cast<const std::byte*>(pair));
  }
  static I dot_pairs(I sum, P p, Q both) {
    asm volatile("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(p), "v"(both));
    return sum;
  }
  static Scales load_scales(const std::byte* from) {
    const __m512i scales =
        _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    // Lane l takes bytes 4l and 4l + 1 (even), 4l + 2 and 4l + 3 (odd), each four times, into the
    // high bytes of words; the shift then extends the sign.
    const __m512i first =
        _mm512_set_epi32(0x0D800D80, 0x0D800D80, 0x0C800C80, 0x0C800C80, 0x09800980, 0x09800980,
                         0x08800880, 0x08800880, 0x05800580, 0x05800580, 0x04800480, 0x04800480,
                         0x01800180, 0x01800180, 0x00800080, 0x00800080);
    const __m512i second = _mm512_add_epi8(first, _mm512_set1_epi16(0x0200));
    return {_mm512_srai_epi16(_mm512_shuffle_epi8(scales, first), 8),
            _mm512_srai_epi16(_mm512_shuffle_epi8(scales, second), 8)};
  }
  static void widen(const std::byte* from, Scales scales, W& low, W& high) {
    const __m512i codes = _mm512_loadu_si512(from);
    const __m512i mask = _mm512_set1_epi8(15);
    low = level(_mm512_and_si512(codes, mask), scales);
    high = level(_mm512_and_si512(_mm512_srli_epi16(codes, 4), mask), scales);
  }
  // Four times the code, as a signed byte, is made of its nibble and of its two upper bits.
  static void widen6(const std::byte* from, Scales scales, W (&out)[4]) {
    const __m512i a = _mm512_loadu_si512(from), b = _mm512_loadu_si512(from + 64);
    const __m512i top = _mm512_loadu_si512(from + 128);
    out[0] = scaled(join6(_mm512_slli_epi16(a, 2), _mm512_slli_epi16(top, 6)), scales);
    out[1] = scaled(join6(_mm512_srli_epi16(a, 2), _mm512_slli_epi16(top, 4)), scales);
    out[2] = scaled(join6(_mm512_slli_epi16(b, 2), _mm512_slli_epi16(top, 2)), scales);
    out[3] = scaled(join6(_mm512_srli_epi16(b, 2), top), scales);
  }
  static Table load_table(const std::int8_t* levels) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(levels));
    return _mm512_xor_si512(_mm512_broadcast_i32x4(bytes),
                            _mm512_set1_epi8(static_cast<char>(0x80)));
  }
  static void look_up(const std::byte* from, Table table, W& low, W& high) {
    const __m512i codes = _mm512_loadu_si512(from);
    const __m512i mask = _mm512_set1_epi8(15);
    low = _mm512_shuffle_epi8(table, _mm512_and_si512(codes, mask));
    high = _mm512_shuffle_epi8(table, _mm512_and_si512(_mm512_srli_epi16(codes, 4), mask));
  }
  static Levels load_levels(const float* levels) { return _mm512_loadu_ps(levels); }
  // A permutation looks at the low four bits of its indices only.
  static void choose_levels(const std::byte* from, Levels levels, F& low, F& high) {
    const __m512i codes =
        _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    low = _mm512_permutexvar_ps(codes, levels);
    high = _mm512_permutexvar_ps(_mm512_srli_epi32(codes, 4), levels);
  }
  static F load_e4m3(const std::byte* from) {
    const __m512i codes =
        _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    const __m512i bits = _mm512_and_si512(_mm512_slli_epi32(codes, 20),
                                          _mm512_set1_epi32(static_cast<int>(0x87F00000)));
    return _mm512_mul_ps(_mm512_castsi512_ps(bits), _mm512_set1_ps(0x1p120f));
  }

 private:
  static W level(__m512i codes, Scales scales) {
    const __m512i table =
        _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(kN4Levels)));
    return scaled(_mm512_shuffle_epi8(table, codes), scales);
  }
  static __m512i join6(__m512i nibbles, __m512i top) {
    const __m512i low = _mm512_and_si512(nibbles, _mm512_set1_epi8(0x3C));
    const __m512i high = _mm512_and_si512(top, _mm512_set1_epi8(static_cast<char>(0xC0)));
    return _mm512_xor_si512(_mm512_or_si512(low, high), _mm512_set1_epi8(static_cast<char>(0x80)));
  }
  // levels * scales / 128, rounded, in the order of the outputs.
  static W scaled(__m512i levels, Scales scales) {
    const __m512i even = _mm512_mulhrs_epi16(_mm512_slli_epi16(levels, 8), scales.even);
    const __m512i odd = _mm512_mulhrs_epi16(
        _mm512_and_si512(levels, _mm512_set1_epi16(static_cast<short>(0xFF00))), scales.odd);
    return _mm512_xor_si512(_mm512_packs_epi16(even, odd),
                            _mm512_set1_epi8(static_cast<char>(0x80)));
  }
};

}  // namespace
}  // namespace linnet
