#include "quantize/row_grid.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "tensor/dtype.h"

namespace linnet {
namespace {

float as_f16(float value) { return f16_to_f32(f32_to_f16(value)); }

// Scale and bias of every group by its extreme values.
void fit_affine4(std::span<const float> row, Affine4Row& out) {
  out.codes.assign(row.size(), 0);
  for (std::size_t first = 0; first < row.size(); first += kAffine4Group) {
    const auto group = row.subspan(first, std::min(kAffine4Group, row.size() - first));
    const auto [low, high] = std::minmax_element(group.begin(), group.end());
    out.scales.push_back(as_f16(std::max((*high - *low) / 15.0f, 1e-7f)));
    out.biases.push_back(as_f16(*low));
  }
}

}  // namespace

RowGrid::RowGrid(RowFormat format, std::span<const float> row, std::span<const float> importance,
                 RoundedRow& out)
    : format_(format), out_(&out), group_size_(static_cast<std::size_t>(kN4Group)) {
  switch (format) {
    case RowFormat::i8:
      encode_i8(row, out.i8);
      return;
    case RowFormat::n4:
      encode_n4(row, importance, out.n4);
      return;
    case RowFormat::s6:
      encode_s6(row, importance, out.s6);
      return;
    case RowFormat::affine4:
      group_size_ = kAffine4Group;
      fit_affine4(row, out.affine4);
      for (std::size_t k = 0; k < row.size(); ++k) place(k, row[k]);
      return;
    case RowFormat::f32:
      break;
  }
  LINNET_CHECK(false, "f32 is not rounded");
}

void RowGrid::enter_group(std::size_t group) {
  group_ = group;
  for (int code = 0; code < 16; ++code) {
    const auto index = static_cast<std::size_t>(code);
    levels_[index] =
        format_ == RowFormat::n4
            ? out_->n4.scale * static_cast<float>(n4_byte(code, out_->n4.groups[group]))
            : out_->affine4.scales[group] * static_cast<float>(code) + out_->affine4.biases[group];
  }
}

float RowGrid::place(std::size_t k, float target) {
  if (format_ == RowFormat::i8) {
    I8Row& row = out_->i8;
    if (row.scale == 0) return 0;
    const float code = std::clamp(std::nearbyint(target / row.scale), -127.0f, 127.0f);
    row.codes[k] = static_cast<std::int8_t>(code);
    return row.scale * code;
  }
  if (format_ == RowFormat::s6) {
    S6Row& row = out_->s6;
    if (row.scale == 0) return 0;
    const std::int8_t c = row.groups[k / static_cast<std::size_t>(kS6Group)];
    row.codes[k] = nearest_s6(target / row.scale, c);
    return row.scale * static_cast<float>(s6_byte(row.codes[k], c));
  }
  if (k / group_size_ != group_) enter_group(k / group_size_);
  std::size_t best = 0;
  float distance = std::fabs(target - levels_[0]);
  for (std::size_t code = 1; code < 16; ++code) {
    const float away = std::fabs(target - levels_[code]);
    best = away < distance ? code : best;
    distance = std::min(away, distance);
  }
  auto& codes = format_ == RowFormat::n4 ? out_->n4.codes : out_->affine4.codes;
  codes[k] = static_cast<std::uint8_t>(best);
  return levels_[best];
}

}  // namespace linnet
