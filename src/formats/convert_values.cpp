#include "formats/convert_values.h"

#include <fmt/core.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "formats/tensor_info.h"
#include "tensor/blocks.h"

namespace linnet {
namespace {

// Values that one thread takes at a time: a multiple of every block.
constexpr std::int64_t kPieceValues = std::int64_t{1} << 14;

std::uint64_t count_overflows(DType dtype, const float* values, const std::byte* bytes,
                              std::int64_t count) {
  if (dtype != DType::f16 && dtype != DType::bf16) return 0;
  std::uint64_t overflows = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint16_t bits;
    std::memcpy(&bits, bytes + i * 2, sizeof(bits));
    const float written = dtype == DType::f16 ? f16_to_f32(bits) : bf16_to_f32(bits);
    overflows += std::isinf(written) && std::isfinite(values[i]) ? 1 : 0;
  }
  return overflows;
}

}  // namespace

bool is_floating(DType dtype) {
  switch (dtype) {
    case DType::i8:
    case DType::u8:
    case DType::i16:
    case DType::u16:
    case DType::i32:
    case DType::u32:
    case DType::i64:
    case DType::u64:
    case DType::boolean:
      return false;
    default:
      return true;
  }
}

std::int64_t encoded_bytes(DType dtype, std::int64_t count) {
  const DTypeInfo& info = dtype_info(dtype);
  return count / info.block_values * info.block_bytes;
}

std::uint64_t convert_values(DType from, const std::byte* source, DType to, std::byte* target,
                             std::int64_t count, ThreadPool& pool) {
  std::atomic<std::uint64_t> overflows{0};
  pool.parallel_for(count, kPieceValues, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> values(static_cast<std::size_t>(end - begin));
    std::byte* out = target + encoded_bytes(to, begin);
    decode(from, source + encoded_bytes(from, begin), values.data(), end - begin);
    encode(to, values.data(), out, end - begin);
    overflows += count_overflows(to, values.data(), out, end - begin);
  });
  return overflows;
}

void refuse_overflows(std::uint64_t overflows, std::string_view tensor, DType dtype) {
  if (overflows == 0) return;
  fail(ErrorCode::invalid_argument,
       fmt::format("{}: values beyond the range of {}, which would become infinite: {}; take bf16 "
                   "or f32",
                   tensor, dtype_name(dtype), overflows));
}

}  // namespace linnet
