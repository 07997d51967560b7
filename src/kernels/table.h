// A table of kernels from one set of lanes. A lanes_*.h holds one struct with the operations on
// sixteen f32 lanes (F), sixteen int32 lanes (I) and the weights of sixteen outputs by four inputs
// (W, in whatever form its dot takes). Everything in those headers and in the templates has
// internal linkage: the linker must never take a function that was compiled for a larger
// instruction set.
#pragma once

#include "kernels/attend.h"
#include "kernels/ceiling.h"
#include "kernels/float_codes.h"
#include "kernels/grouped.h"
#include "kernels/kernels.h"
#include "kernels/linear.h"
#include "kernels/rows.h"
#include "kernels/s6.h"

namespace linnet {
namespace {

template <class L>
constexpr Kernels make_table(std::string_view name, std::string_view needs,
                             bool (*is_supported)()) {
  return {
      .name = name,
      .needs = needs,
      .tile_rows = L::kTileRows,
      .few_rows = L::kFewRows,
      .few_tile_rows = L::kWidenRows,
      .group_tile_rows = L::kGroupRows,
      .is_supported = is_supported,
      .rms_norm = rms_norm_row<L>,
      .quantize = quantize_row<L>,
      .quantize_groups = quantize_groups<L>,
      .linear_f32 = linear_float<L, float>,
      .linear_bf16 = linear_float<L, Bf16>,
      .linear_f16 = linear_float<L, F16>,
      .linear_nf4 = linear_float_codes<L, Nf4Strip>,
      .linear_mxfp8 = linear_float_codes<L, Mxfp8Strip>,
      .linear_i8 = linear_i8<L>,
      .linear_n4 = linear_n4<L>,
      .linear_s6 = linear_s6<L>,
      .linear_grouped = linear_grouped<L>,
      .attend = {attend_segment<L, F32Blocks>, attend_segment<L, F16Blocks>,
                 attend_segment<L, ByteBlocks>},
      .multiply_i8 = multiply_i8<L>,
      .multiply_f32 = multiply_f32<L>,
  };
}

}  // namespace
}  // namespace linnet
