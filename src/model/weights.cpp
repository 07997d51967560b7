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

// Compares what the program asks for with what the files have.
class TensorFinder {
 public:
  TensorFinder(const ModelFiles& files, const Program& program)
      : files_(files), program_(program), prefix_(find_prefix(files)) {}

  // In the order of program.weights, as the files have them.
  std::vector<Tensor> find_all(LoadReport& report) {
    std::vector<Tensor> tensors;
    for (const WeightSlot& slot : program_.weights) {
      const std::string name = file_name_of(prefix_, slot.name);
      // Without any weights the first one asked for says so.
      if (files_.weights != nullptr && !files_.has(name)) {
        missing_.push_back(fmt::format("{} {}", files_.describe(name), shape_text(slot.shape)));
        continue;
      }
      used_.insert(name);
      tensors.push_back(files_.tensor(name));
      report.file_bytes += tensors.back().bytes().size();
      if (tensors.back().shape() != slot.shape) misshapen_.push_back(shape_fault(name, slot));
    }
    for (const std::string& name : files_.tensor_names()) {
      if (!used_.contains(name)) report.unexpected.push_back(name);
    }
    if (!missing_.empty() || !misshapen_.empty()) refuse(report);
    return tensors;
  }

 private:
  std::string shape_fault(const std::string& name, const WeightSlot& slot) const {
    const Shape& found = files_.find(name)->shape;
    const bool vocab = found.size() == 2 && slot.shape[0] == program_.vocab &&
                       found[0] != program_.vocab && slot.shape.size() == 2;
    return fmt::format("{}: the config asks for {}{}", files_.describe(name),
                       shape_text(slot.shape),
                       vocab ? fmt::format(" (vocab_size {})", program_.vocab) : "");
  }

  [[noreturn]] void refuse(const LoadReport& report) const {
    std::string message =
        fmt::format("{}: the tensors do not fit this config:", files_.config_file);
    append_list(message, "missing", missing_);
    append_list(message, "of another shape", misshapen_);
    append_list(message, "in the file that the model does not have", report.unexpected);
    fail(ErrorCode::corrupt_file, message);
  }

  const ModelFiles& files_;
  const Program& program_;
  std::string prefix_;
  std::vector<std::string> missing_, misshapen_;
  std::unordered_set<std::string> used_;
};

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
  loaded.tensors = TensorFinder(files, program).find_all(loaded.report);

  std::uint64_t decoded_bytes = 0, file_bytes = 0;
  for (std::size_t i = 0; i < loaded.tensors.size(); ++i) {
    const Tensor& tensor = loaded.tensors[i];
    if (!decodes_to_float(tensor.dtype())) {
      const std::string name = file_name_of(find_prefix(files), program.weights[i].name);
      fail(ErrorCode::unsupported,
           fmt::format("{}: integers are no weights; f32, bf16, f16 or a GGUF block type is needed",
                       files.describe(name)));
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
