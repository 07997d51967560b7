// Rows of small floats: a code for every weight, a scale for every group of inputs, and
//   w[i] = value(code[i]) * scale[i / group]
// in f32, rounded once, so that a row decodes to the bits that its own format gives. The one form
// in which the kernels take such rows and multiply them as if they were f32.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace linnet {

enum class FloatCode : std::uint8_t {
  nf4,    // 4 bits, kNf4Levels, groups of 64 with an f32 scale: NF4 (nf4.h) with blocks of 64 or
          // more, in rows that are a multiple of 64 long
  mxfp8,  // 8 bits, E4M3, groups of 32 with a power of two: microscaled rows (microscaling.h)
};

constexpr std::int64_t float_group(FloatCode code) { return code == FloatCode::nf4 ? 64 : 32; }
float float_value(FloatCode code, std::uint8_t bits);

struct FloatCodeRow {
  std::vector<std::uint8_t> codes;  // [width], one per byte
  std::vector<float> scales;        // [ceil(width / group)]
};
// By the rules of the format, each row for itself.
void encode_float_codes(FloatCode code, std::span<const float> row, FloatCodeRow& out);

}  // namespace linnet
