#include "model/weights.h"

#include <fmt/core.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "formats/tensor_info.h"
#include "model/find_weights.h"
#include "model/finite.h"
#include "tensor/functions.h"

namespace linnet {
namespace {

bool usable_in_place(const Tensor& tensor) {
  return tensor.dtype() == DType::f32 &&
         reinterpret_cast<std::uintptr_t>(tensor.bytes().data()) % alignof(float) == 0;
}

Tensor decode_tensor(const Tensor& tensor, ThreadPool& pool) {
  const Tensor decoded = Tensor::zeros(DType::f32, tensor.shape());
  // Just made and not shared yet, so it may be written through.
  auto* out = const_cast<float*>(decoded.values<float>().data());
  const std::int64_t width = tensor.dim(tensor.rank() - 1);
  pool.parallel_for(tensor.rows(), 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) tensor.decode_row(row, out + row * width);
  });
  return decoded;
}

}  // namespace

namespace {

// Reads all weights once.
void check_finite(const ModelFiles& files, const WeightFinder& finder, const Program& program,
                  ThreadPool& pool, const LoadOptions& options, LoadedWeights& loaded) {
  for (std::size_t i = 0; i < loaded.tensors.size(); ++i) {
    const NonFinite found = find_non_finite(loaded.tensors[i], pool);
    if (found.count == 0) continue;
    loaded.report.non_finite.push_back(
        fmt::format("{}: {} of {} numbers are not finite, the first is {} at index {}",
                    files.describe(finder.file_name(program.weights[i])), found.count,
                    loaded.tensors[i].elements(), found.first_value, found.first));
  }
  if (loaded.report.non_finite.empty() || options.allow_non_finite) return;
  std::string message =
      fmt::format("{}: broken weights; download the model again:", files.path.string());
  append_list(message, "tensors that hold NaN or infinities", loaded.report.non_finite);
  fail(ErrorCode::corrupt_file, message);
}

}  // namespace

Tensor random_normal(const Shape& shape, float deviation, std::uint64_t seed) {
  const Tensor tensor = Tensor::zeros(DType::f32, shape);
  if (deviation == 0.0f) return tensor;
  // Just made and not shared yet, so it may be written through.
  auto* out = const_cast<float*>(tensor.values<float>().data());
  const RandomKey key = RandomKey::from_seed(seed);
  const std::int64_t width = tensor.dim(-1);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const auto words = threefry2x32(key, static_cast<std::uint32_t>(i / width),
                                    static_cast<std::uint32_t>(i % width));
    const double uniform = (words[0] + 0.5) * 0x1p-32, turn = words[1] * 0x1p-32;
    const double normal = std::sqrt(-2.0 * std::log(uniform)) * cos_f64(turn * 6.283185307179586);
    out[i] = static_cast<float>(normal * static_cast<double>(deviation));
  }
  return tensor;
}

LoadedWeights load_weights(const ModelFiles& files, const ModelConfig& config,
                           const Program& program, ThreadPool& pool, const LoadOptions& options) {
  const auto start = Clock::now();
  LoadedWeights loaded;
  WeightFinder finder(files, config, program, options);
  loaded.tensors = finder.find_all(loaded.report);
  if (options.before_weights) options.before_weights(config, program, loaded.tensors);

  std::uint64_t decoded_bytes = 0, all_bytes = 0, done_bytes = 0;
  for (std::size_t i = 0; i < loaded.tensors.size(); ++i) {
    const Tensor& tensor = loaded.tensors[i];
    if (!is_floating(tensor.dtype())) {
      const std::string name = finder.file_name(program.weights[i]);
      fail(ErrorCode::unsupported,
           fmt::format("{}: integers are no weights; f32, bf16, f16 or a GGUF block type is needed",
                       files.describe(name)));
    }
    all_bytes += tensor.stored_bytes();
    if (!usable_in_place(tensor)) {
      decoded_bytes += static_cast<std::uint64_t>(tensor.elements()) * sizeof(float);
    }
  }
  check_finite(files, finder, program, pool, options, loaded);
  const bool decode_all = decoded_bytes <= options.decode_limit;
  for (Tensor& tensor : loaded.tensors) {
    done_bytes += tensor.stored_bytes();
    // Vectors are small and read often.
    if (!usable_in_place(tensor) && (decode_all || tensor.rank() == 1)) {
      tensor = decode_tensor(tensor, pool);
      loaded.report.memory_bytes += tensor.bytes().size();
    }
    if (options.on_progress) {
      options.on_progress(static_cast<double>(done_bytes) / static_cast<double>(all_bytes));
    }
  }
  loaded.report.seconds = seconds_since(start);
  return loaded;
}

}  // namespace linnet
