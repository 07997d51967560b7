#include "tensor/affine.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "tensor/packed_codes.h"

namespace linnet {
namespace {

struct GroupCode {
  float scale;
  float bias;
};

GroupCode fit_group(std::span<const float> group, float largest_code) {
  const auto [low, high] = std::minmax_element(group.begin(), group.end());
  float scale = std::max((*high - *low) / largest_code, 1e-7f);
  const bool is_low_edge = std::fabs(*low) > std::fabs(*high);
  const float edge = is_low_edge ? *low : *high;
  if (!is_low_edge) scale = -scale;
  const float steps = std::nearbyint(edge / scale);
  if (steps == 0) return {scale, 0};
  return {edge / steps, edge};
}

}  // namespace

void AffineFormat::check(std::int64_t width) const {
  const bool known_bits = bits == 2 || bits == 3 || bits == 4 || bits == 6 || bits == 8;
  const bool known_group = group == 32 || group == 64 || group == 128;
  if (!known_bits || !known_group) {
    fail(
        ErrorCode::unsupported,
        fmt::format("affine quantization with {} bits in groups of {}: Linnet reads 2, 3, 4, 6 and "
                    "8 bits in groups of 32, 64 and 128",
                    bits, group));
  }
  if (width <= 0 || width % group != 0) {
    fail(ErrorCode::invalid_argument,
         fmt::format("a row of {} values is no multiple of the group of {}", width, group));
  }
}

void decode_affine(const AffineFormat& format, const AffineRow& row, std::span<float> out) {
  std::vector<std::uint8_t> codes(out.size());
  unpack_codes(row.words, format.bits, codes);
  const auto group = static_cast<std::size_t>(format.group);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = row.scales[i / group] * static_cast<float>(codes[i]) + row.biases[i / group];
  }
}

void encode_affine(const AffineFormat& format, std::span<const float> row,
                   std::span<std::uint32_t> words, std::span<float> scales,
                   std::span<float> biases) {
  const auto size = static_cast<std::size_t>(format.group);
  const auto largest = static_cast<float>((1 << format.bits) - 1);
  std::vector<std::uint8_t> codes(row.size());
  for (std::size_t g = 0; g * size < row.size(); ++g) {
    const GroupCode code = fit_group(row.subspan(g * size, size), largest);
    scales[g] = code.scale;
    biases[g] = code.bias;
    for (std::size_t i = g * size; i < (g + 1) * size; ++i) {
      const float steps = std::nearbyint((row[i] - code.bias) / code.scale);
      codes[i] = static_cast<std::uint8_t>(std::clamp(steps, 0.0f, largest));
    }
  }
  pack_codes(codes, format.bits, words);
}

}  // namespace linnet
