#include "tensor/microscaling.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "tensor/packed_codes.h"

namespace linnet {
namespace {

constexpr MicroscalingInfo kInfos[] = {
    {Microscaling::mxfp4, "mxfp4", 4, 32},
    {Microscaling::mxfp8, "mxfp8", 8, 32},
    {Microscaling::nvfp4, "nvfp4", 4, 16},
};

// Sign, exponent and mantissa of a small float without infinities; exponent 0 is subnormal.
float small_float(std::uint8_t code, int exponent_bits, int mantissa_bits) {
  const int exponent = code >> mantissa_bits & ((1 << exponent_bits) - 1);
  const int mantissa = code & ((1 << mantissa_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const float value = exponent == 0
                          ? std::ldexp(static_cast<float>(mantissa), 1 - bias - mantissa_bits)
                          : std::ldexp(static_cast<float>(mantissa + (1 << mantissa_bits)),
                                       exponent - bias - mantissa_bits);
  return code >> (exponent_bits + mantissa_bits) & 1 ? -value : value;
}

// Magnitudes of the codes 0, 1, 2, ... in ascending order.
template <std::size_t N>
std::uint8_t nearest_magnitude(const std::array<float, N>& magnitudes, float value) {
  const auto above = std::lower_bound(magnitudes.begin(), magnitudes.end(), value);
  if (above == magnitudes.begin()) return 0;
  const auto index = static_cast<std::uint8_t>(above - magnitudes.begin());
  if (above == magnitudes.end()) return static_cast<std::uint8_t>(index - 1);
  const bool is_lower_nearer = value - *(above - 1) <= *above - value;
  return is_lower_nearer ? static_cast<std::uint8_t>(index - 1) : index;
}

template <std::size_t N>
std::array<float, N> magnitudes_of(float (*decode)(std::uint8_t)) {
  std::array<float, N> magnitudes;
  for (std::size_t i = 0; i < N; ++i) magnitudes[i] = decode(static_cast<std::uint8_t>(i));
  return magnitudes;
}

// Zero is always code 0.
std::uint8_t with_sign(std::uint8_t magnitude, float value, int sign_bit) {
  const bool is_negative = std::signbit(value) && magnitude != 0;
  return static_cast<std::uint8_t>(magnitude | (is_negative ? sign_bit : 0));
}

// floor(log2(x)) of a positive finite number, exactly.
int exponent_of(float x) {
  int exponent;
  std::frexp(x, &exponent);
  return exponent - 1;
}

std::uint8_t group_scale(Microscaling mode, float largest) {
  if (mode == Microscaling::nvfp4) return f32_to_e4m3(largest / 6.0f);
  if (!(largest > 0)) return 0;
  const int margin = mode == Microscaling::mxfp4 ? 2 : 8;
  return static_cast<std::uint8_t>(std::clamp(exponent_of(largest) - margin + 127, 0, 254));
}

float scale_value(Microscaling mode, std::uint8_t code) {
  return mode == Microscaling::nvfp4 ? e4m3_to_f32(code) : e8m0_to_f32(code);
}

float element_value(Microscaling mode, std::uint8_t code) {
  return mode == Microscaling::mxfp8 ? e4m3_to_f32(code) : e2m1_to_f32(code);
}

std::uint8_t element_code(Microscaling mode, float value) {
  return mode == Microscaling::mxfp8 ? f32_to_e4m3(value) : f32_to_e2m1(value);
}

}  // namespace

const MicroscalingInfo& microscaling_info(Microscaling mode) {
  return kInfos[static_cast<std::size_t>(mode)];
}

float e2m1_to_f32(std::uint8_t code) { return small_float(code, 2, 1); }

float e4m3_to_f32(std::uint8_t code) {
  if ((code & 0x7F) == 0x7F) return std::numeric_limits<float>::quiet_NaN();
  return small_float(code, 4, 3);
}

float e8m0_to_f32(std::uint8_t code) {
  if (code == 255) return std::numeric_limits<float>::quiet_NaN();
  return std::ldexp(1.0f, code - 127);
}

std::uint8_t f32_to_e2m1(float value) {
  static const std::array<float, 8> magnitudes = magnitudes_of<8>(e2m1_to_f32);
  if (std::isnan(value)) return 0;
  return with_sign(nearest_magnitude(magnitudes, std::fabs(value)), value, 8);
}

std::uint8_t f32_to_e4m3(float value) {
  static const std::array<float, 127> magnitudes = magnitudes_of<127>(e4m3_to_f32);
  if (std::isnan(value)) return 0x7F;
  return with_sign(nearest_magnitude(magnitudes, std::fabs(value)), value, 0x80);
}

void decode_microscaled(Microscaling mode, std::span<const std::uint32_t> words,
                        std::span<const std::uint8_t> scales, std::span<float> out) {
  const MicroscalingInfo& info = microscaling_info(mode);
  std::vector<std::uint8_t> codes(out.size());
  unpack_codes(words, info.bits, codes);
  const auto group = static_cast<std::size_t>(info.group);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = element_value(mode, codes[i]) * scale_value(mode, scales[i / group]);
  }
}

void encode_microscaled(Microscaling mode, std::span<const float> row,
                        std::span<std::uint32_t> words, std::span<std::uint8_t> scales) {
  const MicroscalingInfo& info = microscaling_info(mode);
  const auto group = static_cast<std::size_t>(info.group);
  std::vector<std::uint8_t> codes(row.size());
  for (std::size_t g = 0; g * group < row.size(); ++g) {
    float largest = 0;
    for (const float value : row.subspan(g * group, group)) {
      largest = std::max(largest, std::fabs(value));
    }
    scales[g] = group_scale(mode, largest);
    const float scale = scale_value(mode, scales[g]);
    for (std::size_t i = g * group; i < (g + 1) * group; ++i) {
      codes[i] = scale > 0 ? element_code(mode, row[i] / scale) : 0;
    }
  }
  pack_codes(codes, info.bits, words);
}

}  // namespace linnet
