#include "kernels/matrix_format.h"

namespace linnet {

std::string_view packed_format_name(PackedFormat format) {
  switch (format) {
    case PackedFormat::f32:
      return "f32";
    case PackedFormat::bf16:
      return "bf16";
    case PackedFormat::f16:
      return "f16";
    case PackedFormat::mxfp8:
      return "mxfp8";
    case PackedFormat::nf4:
      return "nf4";
    case PackedFormat::i8:
      return "i8";
    case PackedFormat::n4:
      return "n4";
    case PackedFormat::s6:
      return "s6";
    case PackedFormat::grouped:
      return "grouped";
  }
  return "";
}

MatrixFormat joined_format(const MatrixFormat& a, const MatrixFormat& b) {
  if (a == b) return a;
  if (a.kind == PackedFormat::grouped && b.kind == PackedFormat::grouped) {
    const auto joined = joined_format(a.grouped, b.grouped);
    return joined ? MatrixFormat(*joined) : PackedFormat::f32;
  }
  for (const PackedFormat alone : {PackedFormat::f16, PackedFormat::grouped, PackedFormat::mxfp8,
                                   PackedFormat::nf4, PackedFormat::f32}) {
    if (a.kind == alone || b.kind == alone) return PackedFormat::f32;
  }
  for (const PackedFormat finer : {PackedFormat::bf16, PackedFormat::i8, PackedFormat::s6}) {
    if (a.kind == finer || b.kind == finer) return finer;
  }
  return PackedFormat::n4;
}

LinearKernel linear_of(const Kernels& kernels, PackedFormat format) {
  switch (format) {
    case PackedFormat::f32:
      return kernels.linear_f32;
    case PackedFormat::bf16:
      return kernels.linear_bf16;
    case PackedFormat::f16:
      return kernels.linear_f16;
    case PackedFormat::mxfp8:
      return kernels.linear_mxfp8;
    case PackedFormat::nf4:
      return kernels.linear_nf4;
    case PackedFormat::i8:
      return kernels.linear_i8;
    case PackedFormat::n4:
      return kernels.linear_n4;
    case PackedFormat::s6:
      return kernels.linear_s6;
    case PackedFormat::grouped:
      return kernels.linear_grouped;
  }
  return nullptr;
}

}  // namespace linnet
