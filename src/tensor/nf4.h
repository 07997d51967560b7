// NF4 (Dettmers et al., "QLoRA") with bitsandbytes' exact semantics: blocks run over the flattened
// tensor, one f32 absmax per block, even elements in the high nibble; optionally the absmax
// themselves in 8 bits ("double quantization"). A last partial block divides where full ones
// multiply with the reciprocal, as bitsandbytes' portable path does.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace linnet {

// The 16 levels in ascending order; level 7 is zero.
std::span<const float> nf4_levels();
// The signed dynamic map of 256 levels, ascending: for i = 0 to 6 the midpoints of 2^i equal bins
// of [0.1, 1], times 10^(i - 6), of both signs, and 0 and 1.
std::span<const float> dynamic_levels();

// Error{invalid_argument} unless it is a power of two from 32 to 4096.
void check_nf4_block(std::int64_t block);

struct Nf4Tensor {
  std::int64_t block = 64;
  std::int64_t count = 0;            // values
  std::vector<std::uint8_t> packed;  // [ceil(count / 2)]; an odd last nibble is code 7
  std::vector<float> absmax;         // [ceil(count / block)]
};
Nf4Tensor encode_nf4(std::span<const float> values, std::int64_t block = 64);
inline std::uint8_t nf4_code(std::span<const std::uint8_t> packed, std::size_t i) {
  const std::uint8_t byte = packed[i / 2];
  return static_cast<std::uint8_t>(i % 2 == 0 ? byte >> 4 : byte & 15);
}
// level[code] * absmax, in f32.
void decode_nf4(std::span<const std::uint8_t> packed, std::span<const float> absmax,
                std::int64_t block, std::span<float> out);

// The absmax of a tensor in 8 bits: code * nested absmax of its 256 + offset.
struct NestedScales {
  static constexpr std::int64_t kBlock = 256;
  float offset = 0;                 // the mean
  std::vector<std::uint8_t> codes;  // [blocks]
  std::vector<float> absmax;        // [ceil(blocks / 256)]
};
NestedScales encode_nested(std::span<const float> absmax);
NestedScales encode_nested(std::span<const float> absmax, float offset);
std::vector<float> decode_nested(std::span<const std::uint8_t> codes, std::span<const float> absmax,
                                 float offset);

}  // namespace linnet
