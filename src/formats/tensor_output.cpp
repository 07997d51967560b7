#include "formats/tensor_output.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "tensor/blocks.h"

namespace linnet {
namespace {

constexpr std::size_t kCopyBytes = std::size_t{8} << 20;
// Values that are converted at a time, and those that one thread takes: multiples of every block.
constexpr std::int64_t kPieceValues = std::int64_t{1} << 20;
constexpr std::int64_t kThreadValues = std::int64_t{1} << 14;

std::int64_t encoded_bytes(DType dtype, std::int64_t values) {
  const DTypeInfo& info = dtype_info(dtype);
  return values / info.block_values * info.block_bytes;
}

// Only the two narrow plain types can lose a finite value to infinity.
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

std::uint64_t total_bytes(const std::vector<OutgoingTensor>& tensors) {
  std::uint64_t bytes = 0;
  for (const OutgoingTensor& tensor : tensors) {
    bytes = checked_add(bytes, tensor_bytes(tensor.info.dtype, tensor.info.shape, tensor.info.name),
                        "size of all tensors");
  }
  return bytes;
}

TensorOutput::TensorOutput(std::uint64_t bytes, OutputOptions options)
    : options_(std::move(options)), total_(bytes) {}

void TensorOutput::write(const OutgoingTensor& tensor, AtomicFile& file) {
  wrote(0);
  const Tensor source = tensor.load();
  LINNET_CHECK(source.shape() == tensor.info.shape, tensor.info.name);
  if (source.dtype() == tensor.info.dtype) return copy(source.bytes(), file);
  convert(source, tensor.info, file);
}

void TensorOutput::copy(Bytes bytes, AtomicFile& file) {
  while (!bytes.empty()) {
    const Bytes piece = bytes.first(std::min(kCopyBytes, bytes.size()));
    file.write(piece);
    wrote(piece.size());
    bytes = bytes.subspan(piece.size());
  }
}

void TensorOutput::convert(const Tensor& source, const TensorInfo& info, AtomicFile& file) {
  if (pool_ == nullptr) pool_ = std::make_unique<ThreadPool>(options_.threads);
  const std::int64_t count = source.elements();
  const auto room = static_cast<std::size_t>(std::min(count, kPieceValues));
  std::vector<float> values(room);
  std::vector<std::byte> bytes(room * sizeof(double));
  std::atomic<std::uint64_t> overflows{0};
  for (std::int64_t first = 0; first < count; first += kPieceValues) {
    const std::int64_t size = std::min(kPieceValues, count - first);
    const std::byte* from = source.bytes().data() + encoded_bytes(source.dtype(), first);
    pool_->parallel_for(size, kThreadValues, [&](std::int64_t begin, std::int64_t end) {
      std::byte* out = bytes.data() + encoded_bytes(info.dtype, begin);
      decode(source.dtype(), from + encoded_bytes(source.dtype(), begin), values.data() + begin,
             end - begin);
      encode(info.dtype, values.data() + begin, out, end - begin);
      overflows += count_overflows(info.dtype, values.data() + begin, out, end - begin);
    });
    const auto written = static_cast<std::size_t>(encoded_bytes(info.dtype, size));
    file.write(Bytes(bytes).first(written));
    wrote(written);
  }
  if (overflows > 0) overflows_.push_back({info.name, overflows});
}

void TensorOutput::wrote(std::uint64_t bytes) {
  if (options_.cancel != nullptr && options_.cancel->load()) {
    fail(ErrorCode::cancelled, "writing the tensors was cancelled; nothing is left behind");
  }
  done_ += bytes;
  if (options_.on_progress && total_ > 0) {
    options_.on_progress(static_cast<double>(done_) / static_cast<double>(total_));
  }
}

}  // namespace linnet
