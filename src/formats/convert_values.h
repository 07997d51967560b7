// Values of one type into another, spread over threads: the one path by which weights change type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/thread_pool.h"
#include "tensor/dtype.h"

namespace linnet {

// Bytes of `count` values, a whole number of blocks.
std::int64_t encoded_bytes(DType dtype, std::int64_t count);

// `count` must be a multiple of both blocks. Returns how many finite values became infinite, which
// only f16 and bf16 can do; callers refuse them. Error{unsupported} for types that cannot be
// decoded or encoded.
std::uint64_t convert_values(DType from, const std::byte* source, DType to, std::byte* target,
                             std::int64_t count, ThreadPool& pool);

// A model with infinite weights cannot be run. Error{invalid_argument} that tells how many values
// of a tensor are out of range, unless it is none.
void refuse_overflows(std::uint64_t overflows, std::string_view tensor, DType dtype);

}  // namespace linnet
