// Affine quantization in groups along a row, as MLX has it: w = scale * code + bias, one scale and
// one bias per group, codes packed as in packed_codes.h.
#pragma once

#include <cstdint>
#include <span>

namespace linnet {

struct AffineFormat {
  int bits = 4;             // 2, 3, 4, 6 or 8
  std::int64_t group = 64;  // 32, 64 or 128; rows are a multiple of it

  // Error{unsupported} for other numbers, naming them; invalid_argument for a row that is no
  // multiple of the group.
  void check(std::int64_t width) const;
};

struct AffineRow {
  std::span<const std::uint32_t> words;  // [width * bits / 32]
  std::span<const float> scales;         // [width / group]
  std::span<const float> biases;         // [width / group]
};
void decode_affine(const AffineFormat& format, const AffineRow& row, std::span<float> out);

// MLX's rule. For a group with largest code n: scale = max((max - min) / n, 1e-7), and the end of
// larger magnitude (the negative scale when that is the upper one) becomes exactly a multiple of
// the scale, so that zero keeps its exact code where it can.
void encode_affine(const AffineFormat& format, std::span<const float> row,
                   std::span<std::uint32_t> words, std::span<float> scales,
                   std::span<float> biases);

}  // namespace linnet
