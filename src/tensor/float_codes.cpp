#include "tensor/float_codes.h"

#include "tensor/microscaling.h"
#include "tensor/nf4.h"
#include "tensor/nf4_levels.h"
#include "tensor/packed_codes.h"

namespace linnet {
namespace {

void encode_nf4_row(std::span<const float> row, FloatCodeRow& out) {
  Nf4Tensor coded = encode_nf4(row, float_group(FloatCode::nf4));
  out.scales = std::move(coded.absmax);
  out.codes.resize(row.size());
  for (std::size_t i = 0; i < row.size(); ++i) out.codes[i] = nf4_code(coded.packed, i);
}

void encode_mxfp8_row(std::span<const float> row, FloatCodeRow& out) {
  const auto group = static_cast<std::size_t>(float_group(FloatCode::mxfp8));
  std::vector<float> padded(row.begin(), row.end());
  padded.resize((row.size() + group - 1) / group * group);
  std::vector<std::uint32_t> words(padded.size() / 4);
  std::vector<std::uint8_t> scales(padded.size() / group);
  encode_microscaled(Microscaling::mxfp8, padded, words, scales);
  out.codes.resize(padded.size());
  unpack_codes(words, 8, out.codes);
  out.codes.resize(row.size());
  out.scales.resize(scales.size());
  for (std::size_t g = 0; g < scales.size(); ++g) out.scales[g] = e8m0_to_f32(scales[g]);
}

}  // namespace

float float_value(FloatCode code, std::uint8_t bits) {
  return code == FloatCode::nf4 ? kNf4Levels[bits & 15] : e4m3_to_f32(bits);
}

void encode_float_codes(FloatCode code, std::span<const float> row, FloatCodeRow& out) {
  code == FloatCode::nf4 ? encode_nf4_row(row, out) : encode_mxfp8_row(row, out);
}

}  // namespace linnet
