// Rows of small whole numbers in groups that share a scale and perhaps a bias: what every GGUF
// block is, what affine rows and rows of small floats (E2M1, doubled) are. The one form in which
// the kernels take them as they are:
//   w[i] = level[i] * scale[g] + bias[g], g = i / group
// with the product and the sum rounded as the format's own decoding rounds them, so that a row
// decodes to the same bits, but for the sign of zeros.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tensor/affine.h"
#include "tensor/dtype.h"
#include "tensor/microscaling.h"

namespace linnet {

// What scales (and biases) are numbers of, exactly.
enum class GroupScale : std::uint8_t {
  f16,
  bf16,
  f32,
  product,  // an f16 of kGroupSpan inputs times a signed byte of the group
};
inline constexpr std::int64_t kGroupSpan = 256;

struct GroupedFormat {
  std::int64_t group = 32;  // 16 or 32; formats with larger ones repeat their scales
  bool has_bias = false;
  GroupScale scale = GroupScale::f16;
  std::int16_t zero = 0;  // levels are in [zero - 128, zero + 127]: 0, or 128 for bytes 0 to 255
  // All levels are among these sixteen: four bits tell which. Else they take eight.
  bool has_table = false;
  std::array<std::int8_t, 16> table = {};
  bool operator==(const GroupedFormat&) const = default;
};

struct GroupedRow {
  std::vector<std::int16_t> levels;   // [width]
  std::vector<float> scales, biases;  // [groups]; biases of formats that have them
  // Of products also the two factors: [spans] and [groups] each.
  std::vector<float> scale_units, bias_units;
  std::vector<std::int8_t> scale_factors, bias_factors;
};

// The format of GGUF blocks; none for plain numbers.
std::optional<GroupedFormat> grouped_format(DType dtype);
void read_grouped(DType dtype, const std::byte* row, std::int64_t width, GroupedRow& out);

// `scale`: the type of the file's scales and biases (f16, bf16 or f32).
GroupedFormat grouped_format(const AffineFormat& format, GroupScale scale);
void read_grouped(const AffineFormat& format, const AffineRow& row, GroupedRow& out);

// None for mxfp8, whose levels are no whole numbers of a byte.
std::optional<GroupedFormat> grouped_format(Microscaling mode);
void read_grouped(Microscaling mode, std::span<const std::uint32_t> words,
                  std::span<const std::uint8_t> scales, GroupedRow& out);

// The smallest format that rows of both can be brought to; none where no byte holds the levels of
// both.
std::optional<GroupedFormat> joined_format(const GroupedFormat& a, const GroupedFormat& b);
// Repeats scales for smaller groups and adds zero biases. `row` is of the format `from`, `to` a
// join of it with others.
void bring_to(const GroupedFormat& from, const GroupedFormat& to, GroupedRow& row);

}  // namespace linnet
