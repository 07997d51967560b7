#include "formats/coded_weights.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "tensor/coded_rows.h"

namespace linnet {
namespace {

constexpr std::string_view kOwnMethod = "linnet";
constexpr std::int64_t kOwnVersion = 1;
constexpr std::string_view kWeight = ".weight";

// "quantization_config", or null when the config has none.
const Json* quantization_of(const Json& config) {
  const Json* found = config.find("quantization_config");
  return found == nullptr || found->is_null() ? nullptr : found;
}

std::string method_of(const Json& quantization, const std::string& config_file) {
  const Json* method = quantization.is_object() ? quantization.find("quant_method") : nullptr;
  if (method == nullptr || !method->is_string()) {
    fail(ErrorCode::corrupt_file,
         fmt::format("{}: quantization_config must be an object with a string quant_method, found "
                     "{}",
                     config_file, quantization.dump()));
  }
  return method->as_string();
}

// A matrix that is put together: how it looks, and how it is made.
struct CodedEntry {
  TensorInfo info;
  std::function<std::shared_ptr<const CodedRows>()> make;
};

// Finds the parts of matrices among the stored tensors.
class PartFinder {
 public:
  explicit PartFinder(const Weights& stored) : stored_(stored) {}

  // The part of a matrix, which must be there with this type and shape.
  const TensorInfo& require(const std::string& matrix, std::string_view suffix, DType dtype,
                            const Shape& shape) {
    const std::string name = matrix + std::string(suffix);
    const TensorInfo* info = stored_.find(name);
    if (info == nullptr) {
      fail(ErrorCode::corrupt_file,
           fmt::format("{}: its codes need the tensor {} ({} {}), which is not there; write the "
                       "model again",
                       stored_.describe(matrix), name, dtype_name(dtype), shape_text(shape)));
    }
    if (info->dtype != dtype || info->shape != shape) {
      fail(ErrorCode::corrupt_file,
           fmt::format("{}: {} {} is needed for the codes of {}", stored_.describe(name),
                       dtype_name(dtype), shape_text(shape), stored_.describe(matrix)));
    }
    parts_.insert(name);
    return *info;
  }
  bool is_part(const std::string& name) const { return parts_.contains(name); }

 private:
  const Weights& stored_;
  std::unordered_set<std::string> parts_;
};

std::uint64_t sum_of_bytes(std::initializer_list<const TensorInfo*> parts) {
  std::uint64_t sum = 0;
  for (const TensorInfo* part : parts) sum = checked_add(sum, stored_bytes(*part), part->name);
  return sum;
}

// None for a tensor that is a matrix of its own.
std::optional<CodedEntry> own_entry(const Weights& stored, const TensorInfo& codes,
                                    PartFinder& parts) {
  if (!codes.name.ends_with(kWeight) || codes.shape.size() != 2) return std::nullopt;
  const std::string& name = codes.name;
  const std::int64_t outputs = codes.shape[0];
  const std::string scale = name + "_scale", groups = name + "_groups";
  if (codes.dtype == DType::i8) {
    const TensorInfo& scales = parts.require(name, "_scale", DType::f32, {outputs});
    return CodedEntry{
        {name, DType::coded, codes.shape, "i8", sum_of_bytes({&codes, &scales})},
        [&stored, name, scale] { return i8_rows(stored.tensor(name), stored.tensor(scale)); }};
  }
  if (codes.dtype == DType::u8) {
    const std::int64_t inputs = element_count({2, codes.shape[1]}, stored.describe(name));
    const TensorInfo& scales = parts.require(name, "_scale", DType::f16, {outputs});
    const TensorInfo& bytes =
        parts.require(name, "_groups", DType::i8, {outputs, (inputs + kN4Group - 1) / kN4Group});
    return CodedEntry{
        {name, DType::coded, {outputs, inputs}, "n4", sum_of_bytes({&codes, &scales, &bytes})},
        [&stored, name, groups, scale] {
          return n4_rows(stored.tensor(name), stored.tensor(groups), stored.tensor(scale));
        }};
  }
  return std::nullopt;
}

class CodedWeights final : public Weights {
 public:
  explicit CodedWeights(std::shared_ptr<const Weights> stored) : stored_(std::move(stored)) {
    PartFinder parts(*stored_);
    std::unordered_map<std::string, CodedEntry> entries;
    for (const TensorInfo& info : stored_->tensors()) {
      if (auto entry = own_entry(*stored_, info, parts)) {
        makers_.emplace(info.name, std::move(entry->make));
        tensors_.push_back(std::move(entry->info));
      } else {
        tensors_.push_back(info);
      }
    }
    std::erase_if(tensors_, [&](const TensorInfo& info) { return parts.is_part(info.name); });
    for (std::size_t i = 0; i < tensors_.size(); ++i) index_.emplace(tensors_[i].name, i);
  }

  const std::vector<TensorInfo>& tensors() const override { return tensors_; }
  const TensorInfo* find(std::string_view name) const override {
    const auto found = index_.find(std::string(name));
    return found == index_.end() ? nullptr : &tensors_[found->second];
  }
  Tensor tensor(std::string_view name) const override {
    const auto made = makers_.find(std::string(name));
    return made == makers_.end() ? stored_->tensor(name) : Tensor::of_rows(made->second());
  }
  // Of the codes, as the file has them.
  std::string describe(std::string_view name) const override { return stored_->describe(name); }

 private:
  std::shared_ptr<const Weights> stored_;
  std::vector<TensorInfo> tensors_;
  std::unordered_map<std::string, std::size_t> index_;
  std::unordered_map<std::string, std::function<std::shared_ptr<const CodedRows>()>> makers_;
};

void check_version(const Json& quantization, const std::string& config_file) {
  const Json* version = quantization.find("version");
  if (version != nullptr && *version == Json(kOwnVersion)) return;
  fail(ErrorCode::unsupported,
       fmt::format(
           "{}: quantization_config: version {} of the method {}: this Linnet reads version "
           "{}; take a newer one",
           config_file, version == nullptr ? "none" : version->dump(), kOwnMethod, kOwnVersion));
}

}  // namespace

std::shared_ptr<const Weights> coded_weights(std::shared_ptr<const Weights> stored,
                                             const Json& config, const std::string& config_file) {
  const Json* quantization = quantization_of(config);
  if (quantization == nullptr || stored == nullptr) return stored;
  if (method_of(*quantization, config_file) != kOwnMethod) return stored;
  check_version(*quantization, config_file);
  return std::make_shared<CodedWeights>(std::move(stored));
}

void require_known_coding(const Json& config, const std::string& config_file) {
  const Json* quantization = quantization_of(config);
  if (quantization == nullptr) return;
  const std::string method = method_of(*quantization, config_file);
  if (method == kOwnMethod) return;
  fail(ErrorCode::unsupported,
       fmt::format("{}: the weights are quantized by the method {}, which Linnet does not read; "
                   "take the model in another form, such as bf16 or a GGUF file",
                   config_file, json_quote(method)));
}

Json own_quantization_config() {
  Json json = Json::object();
  json.set("quant_method", kOwnMethod);
  json.set("version", kOwnVersion);
  return json;
}

NamedTensors stored_tensors(const std::string& name, std::span<const I8Row> rows) {
  std::vector<std::byte> codes;
  std::vector<float> scales;
  for (const I8Row& row : rows) {
    const Bytes bytes = std::as_bytes(std::span(row.codes));
    codes.insert(codes.end(), bytes.begin(), bytes.end());
    scales.push_back(row.scale);
  }
  const auto outputs = static_cast<std::int64_t>(rows.size());
  const std::int64_t width = outputs == 0 ? 0 : static_cast<std::int64_t>(rows[0].codes.size());
  return {{name, Tensor::from_bytes(DType::i8, {outputs, width}, codes)},
          {name + "_scale", Tensor::from_values({outputs}, scales)}};
}

NamedTensors stored_tensors(const std::string& name, std::span<const N4Row> rows) {
  std::vector<std::byte> codes, groups;
  std::vector<std::uint16_t> scales;
  for (const N4Row& row : rows) {
    LINNET_CHECK(row.codes.size() % 2 == 0, name);
    for (std::size_t i = 0; i < row.codes.size(); i += 2) {
      codes.push_back(static_cast<std::byte>(row.codes[i] | row.codes[i + 1] << 4));
    }
    const Bytes bytes = std::as_bytes(std::span(row.groups));
    groups.insert(groups.end(), bytes.begin(), bytes.end());
    scales.push_back(f32_to_f16(row.scale));
  }
  const auto outputs = static_cast<std::int64_t>(rows.size());
  const auto per_row = [&](std::size_t size) {
    return outputs == 0 ? 0 : static_cast<std::int64_t>(size) / outputs;
  };
  return {
      {name, Tensor::from_bytes(DType::u8, {outputs, per_row(codes.size())}, codes)},
      {name + "_groups", Tensor::from_bytes(DType::i8, {outputs, per_row(groups.size())}, groups)},
      {name + "_scale",
       Tensor::from_bytes(DType::f16, {outputs}, std::as_bytes(std::span(std::as_const(scales))))}};
}

}  // namespace linnet
