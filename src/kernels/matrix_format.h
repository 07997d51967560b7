// In what numbers a packed matrix holds its weights.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "kernels/grouped_strip.h"
#include "kernels/kernels.h"
#include "tensor/float_codes.h"

namespace linnet {

enum class PackedFormat : std::uint8_t { f32, bf16, f16, mxfp8, nf4, i8, n4, s6, grouped };

// All but the grouped ones, of which there are many.
inline constexpr PackedFormat kPackedFormats[] = {
    PackedFormat::f32, PackedFormat::bf16, PackedFormat::f16, PackedFormat::mxfp8,
    PackedFormat::nf4, PackedFormat::i8,   PackedFormat::n4,  PackedFormat::s6};

std::string_view packed_format_name(PackedFormat format);
// Of a format whose weights are codes of floats.
inline std::optional<FloatCode> float_code(PackedFormat format) {
  if (format == PackedFormat::nf4) return FloatCode::nf4;
  return format == PackedFormat::mxfp8 ? std::optional(FloatCode::mxfp8) : std::nullopt;
}
inline bool is_integer(PackedFormat format) {
  return format == PackedFormat::i8 || format == PackedFormat::n4 || format == PackedFormat::s6;
}

// A format with what it needs to be whole.
struct MatrixFormat {
  MatrixFormat() = default;
  MatrixFormat(PackedFormat of) : kind(of) {}
  MatrixFormat(const GroupedFormat& of) : kind(PackedFormat::grouped), grouped(of) {}
  PackedFormat kind = PackedFormat::f32;
  GroupedFormat grouped = {};  // of that kind
  bool operator==(const MatrixFormat&) const = default;
};
// The smallest format that holds matrices of both, which are to be one: f32 where one of them is
// exact in no other (grouped, f16, mxfp8, nf4), else the finer one.
MatrixFormat joined_format(const MatrixFormat& a, const MatrixFormat& b);

using LinearKernel = void (*)(const LinearTask&);
LinearKernel linear_of(const Kernels& kernels, PackedFormat format);

}  // namespace linnet
