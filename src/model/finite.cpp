#include "model/finite.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <mutex>
#include <vector>

#include "tensor/blocks.h"
#include "tensor/coded_rows.h"

namespace linnet {
namespace {

// Bytes per piece of work: long enough to be one stream, short enough to be shared out.
constexpr std::int64_t kPieceBytes = std::int64_t{1} << 20;

// A number is infinite or NaN when all bits of its exponent are set.
template <typename Word>
std::int64_t count_words(const std::byte* bytes, std::int64_t count, Word exponent) {
  // Short runs keep the sum in a word of the same width, so that compilers vectorise.
  constexpr std::int64_t kRun = 4096;
  std::int64_t total = 0;
  for (std::int64_t begin = 0; begin < count; begin += kRun) {
    const std::int64_t end = std::min(count, begin + kRun);
    Word found = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      Word word;
      std::memcpy(&word, bytes + i * static_cast<std::int64_t>(sizeof(Word)), sizeof(Word));
      found = static_cast<Word>(found + ((word & exponent) == exponent));
    }
    total += found;
  }
  return total;
}

// Where the f16 scales of a block lie. The formats are described in tensor/blocks_32.h and
// tensor/blocks_256.h.
struct ScalePlaces {
  DType dtype;
  std::array<int, 2> offsets;  // -1: no second one
};
constexpr ScalePlaces kScales[] = {
    {DType::q4_0, {0, -1}},   {DType::q4_1, {0, 2}},    {DType::q5_0, {0, -1}},
    {DType::q5_1, {0, 2}},    {DType::q8_0, {0, -1}},   {DType::q2_k, {80, 82}},
    {DType::q3_k, {108, -1}}, {DType::q4_k, {0, 2}},    {DType::q5_k, {0, 2}},
    {DType::q6_k, {208, -1}}, {DType::iq4_nl, {0, -1}}, {DType::iq4_xs, {0, -1}},
};

bool is_suspicious(const ScalePlaces& places, const std::byte* block) {
  for (const int offset : places.offsets) {
    if (offset < 0) continue;
    std::uint16_t half;
    std::memcpy(&half, block + offset, sizeof half);
    if ((half & 0x7c00) == 0x7c00) return true;
  }
  return false;
}

// mxfp4's scale is an exponent byte: up to this one every product with a code stays in f32.
constexpr auto kLargestExponent = std::byte{252};

NonFinite count_values(const float* values, std::int64_t count) {
  NonFinite found;
  for (std::int64_t i = 0; i < count; ++i) {
    if (std::isfinite(values[i])) continue;
    if (found.count++ == 0) found.first = i, found.first_value = values[i];
  }
  return found;
}

NonFinite check_rows(const Tensor& tensor, std::int64_t begin, std::int64_t end) {
  NonFinite all;
  const std::int64_t width = tensor.dim(-1);
  std::vector<float> values(static_cast<std::size_t>(width));
  for (std::int64_t row = begin; row < end; ++row) {
    if (!tensor.coded_rows()->may_be_non_finite(row)) continue;
    tensor.decode_row(row, values.data());
    const NonFinite found = count_values(values.data(), width);
    if (all.count == 0 && found.count > 0) {
      all.first = row * width + found.first, all.first_value = found.first_value;
    }
    all.count += found.count;
  }
  return all;
}

// Elements [begin, end) of the tensor, whole blocks; `first` counts from the tensor's first.
NonFinite check_piece(const Tensor& tensor, std::int64_t begin, std::int64_t end) {
  const DTypeInfo& info = dtype_info(tensor.dtype());
  const auto decoded = [&](std::int64_t from, std::int64_t to) {
    std::vector<float> values(static_cast<std::size_t>(to - from));
    const std::int64_t offset = from / info.block_values * info.block_bytes;
    decode(tensor.dtype(), tensor.bytes().data() + offset, values.data(), to - from);
    NonFinite found = count_values(values.data(), to - from);
    if (found.count > 0) found.first += from;
    return found;
  };
  const std::byte* bytes = tensor.bytes().data() + begin / info.block_values * info.block_bytes;
  const std::int64_t count = end - begin;
  const auto whole_if = [&](std::int64_t found) {
    return found > 0 ? decoded(begin, end) : NonFinite{};
  };
  switch (tensor.dtype()) {
    case DType::f32:
      return whole_if(count_words<std::uint32_t>(bytes, count, 0x7f800000));
    case DType::bf16:
      return whole_if(count_words<std::uint16_t>(bytes, count, 0x7f80));
    case DType::f16:
      return whole_if(count_words<std::uint16_t>(bytes, count, 0x7c00));
    case DType::f64:
      return decoded(begin, end);  // may also leave the range of f32
    default:
      break;
  }
  const auto* places = std::find_if(std::begin(kScales), std::end(kScales),
                                    [&](const auto& item) { return item.dtype == tensor.dtype(); });
  NonFinite all;
  for (std::int64_t at = begin; at < end; at += info.block_values, bytes += info.block_bytes) {
    const bool suspicious =
        places != std::end(kScales) ? is_suspicious(*places, bytes) : *bytes > kLargestExponent;
    if (!suspicious) continue;
    const NonFinite found = decoded(at, at + info.block_values);
    if (all.count == 0 && found.count > 0)
      all.first = found.first, all.first_value = found.first_value;
    all.count += found.count;
  }
  return all;
}

bool can_be_non_finite(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::bf16:
    case DType::f16:
    case DType::f64:
    case DType::mxfp4:
    case DType::coded:
      return true;
    default:
      return std::any_of(std::begin(kScales), std::end(kScales),
                         [&](const ScalePlaces& places) { return places.dtype == dtype; });
  }
}

}  // namespace

NonFinite find_non_finite(const Tensor& tensor, ThreadPool& pool) {
  NonFinite all;
  if (!can_be_non_finite(tensor.dtype()) || tensor.elements() == 0) return all;
  const DTypeInfo& info = dtype_info(tensor.dtype());
  std::mutex mutex;
  const bool is_coded = tensor.dtype() == DType::coded;
  const std::int64_t blocks = is_coded ? tensor.rows() : tensor.elements() / info.block_values;
  const std::int64_t block_bytes = is_coded ? tensor.dim(-1) : info.block_bytes;
  pool.parallel_for(blocks, std::max<std::int64_t>(1, kPieceBytes / block_bytes),
                    [&](std::int64_t begin, std::int64_t end) {
                      const NonFinite found = is_coded
                                                  ? check_rows(tensor, begin, end)
                                                  : check_piece(tensor, begin * info.block_values,
                                                                end * info.block_values);
                      if (found.count == 0) return;
                      const std::lock_guard lock(mutex);
                      if (all.count == 0 || found.first < all.first) {
                        all.first = found.first;
                        all.first_value = found.first_value;
                      }
                      all.count += found.count;
                    });
  return all;
}

}  // namespace linnet
