// A second definition of the block formats, value by value: what is the value at place `j` of this
// block? Slow, without shared loops, written from the layouts and not from the library's code.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "tensor/dtype.h"

namespace linnet::reference {

using Block = const std::uint8_t*;

inline float half_at(Block b, int place) {
  return f16_to_f32(static_cast<std::uint16_t>(b[place] | b[place + 1] << 8));
}
// Value j of 32 in sixteen bytes: the low nibbles come first.
inline int nibble_at(Block b, int j) { return j < 16 ? b[j] & 15 : b[j - 16] >> 4; }
inline int bit_at(Block b, int bit) { return b[bit / 8] >> (bit % 8) & 1; }

inline float q4_0(Block b, int j) {
  return half_at(b, 0) * static_cast<float>(nibble_at(b + 2, j) - 8);
}
inline float q4_1(Block b, int j) {
  return half_at(b, 0) * static_cast<float>(nibble_at(b + 4, j)) + half_at(b, 2);
}
inline float q5_0(Block b, int j) {
  return half_at(b, 0) * static_cast<float>(nibble_at(b + 6, j) + 16 * bit_at(b + 2, j) - 16);
}
inline float q5_1(Block b, int j) {
  return half_at(b, 0) * static_cast<float>(nibble_at(b + 8, j) + 16 * bit_at(b + 4, j)) +
         half_at(b, 2);
}
inline float q8_0(Block b, int j) {
  return half_at(b, 0) * static_cast<float>(static_cast<std::int8_t>(b[2 + j]));
}

// Code j of 256 in 64 bytes with two bits each: 128 values share 32 bytes.
inline int two_bits_at(Block b, int j) {
  return b[j / 128 * 32 + j % 32] >> (j % 128 / 32 * 2) & 3;
}
// Code j of 256 in 128 bytes with four bits each: 64 values share 32 bytes.
inline int four_bits_at(Block b, int j) {
  return b[j / 64 * 32 + j % 32] >> (j % 64 / 32 * 4) & 15;
}

inline float q2_k(Block b, int j) {
  const float scale = half_at(b, 80) * static_cast<float>(b[j / 16] & 15);
  const float minimum = half_at(b, 82) * static_cast<float>(b[j / 16] >> 4);
  return scale * static_cast<float>(two_bits_at(b + 16, j)) - minimum;
}

inline float q3_k(Block b, int j) {
  const int g = j / 16;
  Block s = b + 96;
  int six = g < 8 ? s[g] & 15 : s[g - 8] >> 4;
  six += (s[8 + g % 4] >> (g / 4 * 2) & 3) * 16;
  const int high = b[j % 32] >> (j / 32) & 1;
  const float scale = half_at(b, 108) * static_cast<float>(six - 32);
  return scale * static_cast<float>(two_bits_at(b + 32, j) - (high ? 0 : 4));
}

inline int k_scale(Block s, int g) {
  return g < 4 ? s[g] % 64 : (s[g + 4] % 16) + (s[g - 4] / 64) * 16;
}
inline int k_minimum(Block s, int g) {
  return g < 4 ? s[g + 4] % 64 : (s[g + 4] / 16) + (s[g] / 64) * 16;
}

inline float q4_k(Block b, int j) {
  const float scale = half_at(b, 0) * static_cast<float>(k_scale(b + 4, j / 32));
  const float minimum = half_at(b, 2) * static_cast<float>(k_minimum(b + 4, j / 32));
  return scale * static_cast<float>(four_bits_at(b + 16, j)) - minimum;
}

inline float q5_k(Block b, int j) {
  const float scale = half_at(b, 0) * static_cast<float>(k_scale(b + 4, j / 32));
  const float minimum = half_at(b, 2) * static_cast<float>(k_minimum(b + 4, j / 32));
  const int high = b[16 + j % 32] >> (j / 32) & 1;
  return scale * static_cast<float>(four_bits_at(b + 48, j) + 16 * high) - minimum;
}

inline float q6_k(Block b, int j) {
  const int in_half = j % 128;
  const int low_byte = b[j / 128 * 64 + in_half % 64];
  const int low = in_half < 64 ? low_byte & 15 : low_byte >> 4;
  const int high = b[128 + j / 128 * 32 + in_half % 32] >> (in_half / 32 * 2) & 3;
  const float scale =
      half_at(b, 208) * static_cast<float>(static_cast<std::int8_t>(b[192 + j / 16]));
  return scale * static_cast<float>(low + 16 * high - 32);
}

inline constexpr int kLevels[] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                  1,    13,   25,  38,  53,  69,  89,  113};

inline float iq4_nl(Block b, int j) {
  return half_at(b, 0) * static_cast<float>(kLevels[nibble_at(b + 2, j)]);
}

inline float iq4_xs(Block b, int j) {
  const int g = j / 32;
  const int low = g % 2 == 0 ? b[4 + g / 2] & 15 : b[4 + g / 2] >> 4;
  const int high = bit_at(b + 2, 2 * g) + 2 * bit_at(b + 2, 2 * g + 1);
  const float scale = half_at(b, 0) * static_cast<float>(low + 16 * high - 32);
  return scale * static_cast<float>(kLevels[nibble_at(b + 8 + g * 16, j % 32)]);
}

// E2M1: sign, two bits of exponent with bias 1, one bit of mantissa.
inline float mxfp4(Block b, int j) {
  const int code = nibble_at(b + 1, j);
  const int exponent = code >> 1 & 3, mantissa = code & 1;
  const double value = exponent == 0 ? mantissa * 0.5 : std::ldexp(2 + mantissa, exponent - 2);
  return static_cast<float>((code & 8 ? -1 : 1) * std::ldexp(value, b[0] - 127));
}

struct Format {
  DType dtype;
  float (*value)(Block, int);
};
inline constexpr Format kFormats[] = {
    {DType::q4_0, q4_0},   {DType::q4_1, q4_1}, {DType::q5_0, q5_0},     {DType::q5_1, q5_1},
    {DType::q8_0, q8_0},   {DType::q2_k, q2_k}, {DType::q3_k, q3_k},     {DType::q4_k, q4_k},
    {DType::q5_k, q5_k},   {DType::q6_k, q6_k}, {DType::iq4_nl, iq4_nl}, {DType::iq4_xs, iq4_xs},
    {DType::mxfp4, mxfp4},
};

}  // namespace linnet::reference
