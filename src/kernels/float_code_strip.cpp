#include "kernels/float_code_strip.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/kernels.h"
#include "tensor/dtype.h"

namespace linnet {
namespace {

constexpr std::int64_t scale_bytes(FloatCode code) { return code == FloatCode::nf4 ? 4 : 2; }
// Of so many inputs of a group.
constexpr std::int64_t code_bytes(FloatCode code, std::int64_t inputs) {
  return (code == FloatCode::nf4 ? (inputs + 1) / 2 : inputs) * kStripOutputs;
}
constexpr std::int64_t group_bytes(FloatCode code) {
  return scale_bytes(code) * kStripOutputs + code_bytes(code, float_group(code));
}

std::int64_t code_place(FloatCode code, std::int64_t output, std::int64_t input) {
  const std::int64_t in_group = input % float_group(code);
  return input / float_group(code) * group_bytes(code) + scale_bytes(code) * kStripOutputs +
         (code == FloatCode::nf4 ? in_group / 2 : in_group) * kStripOutputs + output;
}

void put_scale(FloatCode code, float scale, std::int64_t output, std::byte* group) {
  if (code == FloatCode::nf4) {
    std::memcpy(group + 4 * output, &scale, sizeof scale);
  } else {
    const std::uint16_t bits = f32_to_bf16(scale);
    std::memcpy(group + 2 * output, &bits, sizeof bits);
  }
}

float get_scale(FloatCode code, std::int64_t output, const std::byte* group) {
  float scale;
  std::uint16_t bits;
  if (code == FloatCode::nf4) {
    std::memcpy(&scale, group + 4 * output, sizeof scale);
    return scale;
  }
  std::memcpy(&bits, group + 2 * output, sizeof bits);
  return bf16_to_f32(bits);
}

}  // namespace

std::int64_t float_strip_bytes(FloatCode code, std::int64_t inputs) {
  const std::int64_t group = float_group(code), rest = inputs % group;
  const std::int64_t last = scale_bytes(code) * kStripOutputs + code_bytes(code, rest);
  return inputs / group * group_bytes(code) + (rest > 0 ? last : 0);
}

void write_float_codes(FloatCode code, std::int64_t output, const FloatCodeRow& row,
                       std::byte* strip) {
  const std::int64_t group = float_group(code);
  const auto inputs = static_cast<std::int64_t>(row.codes.size());
  for (std::int64_t first = 0; first < inputs; first += group) {
    float scale = row.scales[static_cast<std::size_t>(first / group)];
    for (std::int64_t k = first; k < std::min(first + group, inputs); ++k) {
      const std::uint8_t bits = row.codes[static_cast<std::size_t>(k)];
      if (std::isnan(float_value(code, bits))) scale = std::numeric_limits<float>::quiet_NaN();
      const int shift = code == FloatCode::nf4 && k % 2 == 1 ? 4 : 0;
      strip[code_place(code, output, k)] |= static_cast<std::byte>(bits << shift);
    }
    put_scale(code, scale, output, strip + first / group * group_bytes(code));
  }
}

void read_float_codes(FloatCode code, const std::byte* strip, std::int64_t output,
                      std::int64_t inputs, float* out) {
  for (std::int64_t k = 0; k < inputs; ++k) {
    const int byte = static_cast<int>(strip[code_place(code, output, k)]);
    const int bits = code == FloatCode::nf4 && k % 2 == 1 ? byte >> 4 : byte;
    out[k] = float_value(code, static_cast<std::uint8_t>(bits)) *
             get_scale(code, output, strip + k / float_group(code) * group_bytes(code));
  }
}

}  // namespace linnet
