#include "formats/tensor_output.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/error.h"
#include "formats/convert_values.h"

namespace linnet {
namespace {

constexpr std::size_t kCopyBytes = std::size_t{8} << 20;
// Values that are converted at a time: a multiple of every block.
constexpr std::int64_t kPieceValues = std::int64_t{1} << 20;

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
  Tensor source = tensor.load();
  if (source.dtype() == DType::coded) source = source.to_f32();
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
  std::vector<std::byte> bytes(
      static_cast<std::size_t>(encoded_bytes(info.dtype, std::min(count, kPieceValues))));
  std::uint64_t overflows = 0;
  for (std::int64_t first = 0; first < count; first += kPieceValues) {
    const std::int64_t size = std::min(kPieceValues, count - first);
    const std::byte* from = source.bytes().data() + encoded_bytes(source.dtype(), first);
    overflows += convert_values(source.dtype(), from, info.dtype, bytes.data(), size, *pool_);
    const auto written = static_cast<std::size_t>(encoded_bytes(info.dtype, size));
    file.write(Bytes(bytes).first(written));
    wrote(written);
  }
  refuse_overflows(overflows, info.name, info.dtype);
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
