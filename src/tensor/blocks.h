// GGUF blocks: the one definition of each format. Decoding gives the values that gguf-py gives,
// bit for bit; encoding follows its rounding.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace linnet {

// Decodes `count` values (a multiple of the block) of any dtype but the integers.
void decode(DType dtype, const std::byte* bytes, float* values, std::int64_t count);
// Encodes; supported: f32, bf16, f16, q4_0, q4_1, q5_0, q5_1, q8_0, mxfp4. Others:
// Error{unsupported}.
void encode(DType dtype, const float* values, std::byte* bytes, std::int64_t count);

}  // namespace linnet
