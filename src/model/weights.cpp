#include "model/weights.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_set>

#include "base/clock.h"
#include "base/error.h"

namespace linnet {
namespace {

// Names shown of a long list; the rest is counted.
constexpr std::size_t kNamesShown = 8;

// Base models have no prefix, question answering has its own.
std::string find_prefix(const ModelFiles& files) {
  for (const std::string prefix : {"model.", "", "transformer."}) {
    if (files.has(prefix + "embed_tokens.weight")) return prefix;
  }
  return "model.";
}

std::string file_name_of(const std::string& prefix, const std::string& slot) {
  return slot.starts_with("lm_head.") ? slot : prefix + slot;
}

void append_list(std::string& message, std::string_view title,
                 const std::vector<std::string>& items) {
  if (items.empty()) return;
  message += fmt::format("\n  {} {}:", items.size(), title);
  for (std::size_t i = 0; i < std::min(items.size(), kNamesShown); ++i)
    message += "\n    " + items[i];
  if (items.size() > kNamesShown)
    message += fmt::format("\n    and {} more", items.size() - kNamesShown);
}

// The tensors as the files have them.
std::vector<Tensor> find_tensors(const ModelFiles& files, const Program& program,
                                 LoadReport& report) {
  const std::string prefix = find_prefix(files);
  std::vector<Tensor> tensors;
  std::vector<std::string> missing, misshapen;
  std::unordered_set<std::string> used;
  for (const WeightSlot& slot : program.weights) {
    const std::string name = file_name_of(prefix, slot.name);
    if (!files.has(name)) {
      missing.push_back(fmt::format("{} {}", name, shape_text(slot.shape)));
      continue;
    }
    used.insert(name);
    Tensor tensor = files.tensor(name);
    if (tensor.shape() != slot.shape) {
      misshapen.push_back(fmt::format("{}: the config asks for {}, the file has {}", name,
                                      shape_text(slot.shape), shape_text(tensor.shape())));
    }
    report.file_bytes += tensor.bytes().size();
    tensors.push_back(std::move(tensor));
  }
  for (const std::string& name : files.tensor_names()) {
    if (!used.contains(name)) report.unexpected.push_back(name);
  }
  if (missing.empty() && misshapen.empty()) return tensors;
  std::string message = fmt::format("{}: the tensors do not fit the config:", files.path.string());
  append_list(message, "missing", missing);
  append_list(message, "of another shape", misshapen);
  append_list(message, "in the file that the model does not have", report.unexpected);
  fail(ErrorCode::corrupt_file, message);
}

bool decodes_to_float(DType dtype) {
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

LoadedWeights load_weights(const ModelFiles& files, const Program& program, ThreadPool& pool,
                           const LoadOptions& options) {
  const auto start = Clock::now();
  LoadedWeights loaded;
  loaded.tensors = find_tensors(files, program, loaded.report);

  std::uint64_t decoded_bytes = 0, file_bytes = 0;
  for (std::size_t i = 0; i < loaded.tensors.size(); ++i) {
    const Tensor& tensor = loaded.tensors[i];
    if (!decodes_to_float(tensor.dtype())) {
      fail(ErrorCode::unsupported,
           fmt::format("{}: tensor {} is of type {}, which holds no weights", files.path.string(),
                       program.weights[i].name, dtype_name(tensor.dtype())));
    }
    if (!usable_in_place(tensor)) {
      decoded_bytes += static_cast<std::uint64_t>(tensor.elements()) * sizeof(float);
    }
  }
  const bool decode_all = decoded_bytes <= options.decode_limit;
  for (Tensor& tensor : loaded.tensors) {
    file_bytes += tensor.bytes().size();
    // Vectors are small and read often.
    if (!usable_in_place(tensor) && (decode_all || tensor.rank() == 1)) {
      tensor = decode_tensor(tensor, pool);
      loaded.report.memory_bytes += tensor.bytes().size();
    }
    if (options.on_progress) {
      options.on_progress(static_cast<double>(file_bytes) /
                          static_cast<double>(loaded.report.file_bytes));
    }
  }
  loaded.report.seconds = seconds_since(start);
  return loaded;
}

}  // namespace linnet
