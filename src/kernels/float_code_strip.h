// The strips of a matrix of float codes (tensor/float_codes.h), for 32 outputs each: groups of
// inputs one after the other, the last one perhaps shorter.
//   nf4    [32] f32 scales, then [inputs / 2, rounded up][32] bytes: the even input's code in the
//          low four bits, the next one's in the high ones
//   mxfp8  [32] bf16 scales, then [inputs][32] codes. A group with a NaN among its codes has the
//          scale NaN, as every product with it would be: the kernels do not look for that code.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/float_codes.h"

namespace linnet {

std::int64_t float_strip_bytes(FloatCode code, std::int64_t inputs);
// Puts one output's row into a strip that was zeroed.
void write_float_codes(FloatCode code, std::int64_t output, const FloatCodeRow& row,
                       std::byte* strip);
// The weights of an output.
void read_float_codes(FloatCode code, const std::byte* strip, std::int64_t output,
                      std::int64_t inputs, float* out);

}  // namespace linnet
