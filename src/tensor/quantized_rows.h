// Linnet's own weight formats, one output row at a time. All make every weight one scale per row
// times a signed byte, so that the product with int8 activations is one exact integer.
//   I8  8 bits:    w = scale * code, code in [-127, 127].
//   N4  4.25 bits: w = scale * n4_byte(code, c): a code of 4 bits per weight, c one signed byte per
//                  group of 32 weights along the inputs (the last group may be shorter).
//   S6  6.125 bits: w = scale * s6_byte(code, c): a code of 6 bits per weight, c one signed byte
//   per
//                  group of 64.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/n4.h"
#include "tensor/s6.h"

namespace linnet {

struct I8Row {
  float scale = 0;
  std::vector<std::int8_t> codes;  // [width]
};

struct N4Row {
  float scale = 0;                  // exactly an f16
  std::vector<std::int8_t> groups;  // [ceil(width / 32)]
  std::vector<std::uint8_t> codes;  // [width], one code per byte
};

struct S6Row {
  float scale = 0;                  // exactly an f16
  std::vector<std::int8_t> groups;  // [ceil(width / 64)]
  std::vector<std::int8_t> codes;   // [width], in [-32, 31]
};

// scale = max|w| / 127, codes rounded to nearest, ties to even.
void encode_i8(std::span<const float> row, I8Row& out);
void decode_i8(const I8Row& row, float* out);

// Per group the best of 14 scales by weighted squared error, refitted by least squares for its
// codes; then the scale of the row, the bytes of the groups, and the nearest codes for those.
// `importance` weighs the inputs (their mean square over a calibration text), or is empty.
void encode_n4(std::span<const float> row, std::span<const float> importance, N4Row& out);
void decode_n4(const N4Row& row, float* out);

// The same with the best of 8 scales.
void encode_s6(std::span<const float> row, std::span<const float> importance, S6Row& out);
void decode_s6(const S6Row& row, float* out);
// The code of a group whose byte is nearest to target, in multiples of the row's scale.
std::int8_t nearest_s6(float target, std::int8_t c);

}  // namespace linnet
