#include "formats/coded_weights.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "formats/coded_methods.h"

namespace linnet {
namespace {

constexpr std::string_view kOwnMethod = "linnet", kBitsandbytes = "bitsandbytes";
constexpr std::int64_t kOwnVersion = 1;

const Json* object_of(const Json& config, std::string_view key, const std::string& config_file) {
  const Json* found = config.find(key);
  if (found == nullptr || found->is_null()) return nullptr;
  if (found->is_object()) return found;
  fail(ErrorCode::corrupt_file,
       fmt::format("{}: {} must be an object, found {}", config_file, key, found->dump()));
}

void check_version(const Json& quantization, const std::string& config_file) {
  const Json* version = quantization.find("version");
  if (version != nullptr && *version == Json(kOwnVersion)) return;
  fail(ErrorCode::unsupported,
       fmt::format(
           "{}: quantization_config: version {} of the method {}: this Linnet reads version "
           "{}; take a newer one",
           config_file, version == nullptr ? "none" : version->dump(), kOwnMethod, kOwnVersion));
}

struct ChosenMethod {
  CodedMethod method;   // null when the config names none, or one that is not read
  std::string foreign;  // the name of one that is not read
};

// "quant_method" tells the method; MLX gives none, but bits and groups, under either key.
ChosenMethod choose_method(const Json& config, const std::string& config_file) {
  const Json* transformers = object_of(config, "quantization_config", config_file);
  const Json* mlx = object_of(config, "quantization", config_file);
  const Json* method = transformers == nullptr ? nullptr : transformers->find("quant_method");
  if (method == nullptr) {
    if (mlx == nullptr) mlx = transformers;
    if (mlx == nullptr) return {};
    if (mlx->find("bits") != nullptr) return {mlx_method(*mlx, config_file), ""};
    fail(ErrorCode::corrupt_file,
         fmt::format("{}: neither quant_method nor bits in the description of the quantization: {}",
                     config_file, mlx->dump()));
  }
  const std::string& name = method->as_string(config_file + ": quant_method");
  if (name == kOwnMethod) {
    check_version(*transformers, config_file);
    return {own_method(), ""};
  }
  const Json* type = transformers->find("bnb_4bit_quant_type");
  if (name != kBitsandbytes) return {nullptr, name};
  if (type != nullptr && *type == Json("nf4")) return {nf4_method(), ""};
  return {nullptr, name + " (other than nf4)"};
}

class CodedWeights final : public Weights {
 public:
  CodedWeights(std::shared_ptr<const Weights> stored, const CodedMethod& method)
      : stored_(std::move(stored)) {
    CodedParts parts(*stored_);
    for (const TensorInfo& info : stored_->tensors()) {
      if (auto entry = method(info, parts)) {
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

}  // namespace

std::shared_ptr<const Weights> coded_weights(std::shared_ptr<const Weights> stored,
                                             const Json& config, const std::string& config_file) {
  if (stored == nullptr) return stored;
  const ChosenMethod chosen = choose_method(config, config_file);
  if (!chosen.method) return stored;
  return std::make_shared<CodedWeights>(std::move(stored), chosen.method);
}

void require_known_coding(const Json& config, const std::string& config_file) {
  const ChosenMethod chosen = choose_method(config, config_file);
  if (chosen.foreign.empty()) return;
  fail(ErrorCode::unsupported,
       fmt::format("{}: the weights are quantized by the method {}, which Linnet does not read; "
                   "take the model in another form, such as bf16 or a GGUF file",
                   config_file, json_quote(chosen.foreign)));
}

void drop_quantization(Json& config) {
  std::erase_if(config.as_object(), [](const auto& member) {
    return member.first == "quantization_config" || member.first == "quantization";
  });
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

namespace {

// Of rows of N4 or S6, whose codes `put` packs.
template <class Row, class Put>
NamedTensors grouped_tensors(const std::string& name, std::string_view groups_suffix,
                             std::span<const Row> rows, Put put) {
  std::vector<std::byte> codes, groups;
  std::vector<std::uint16_t> scales;
  for (const Row& row : rows) {
    put(row.codes, codes);
    const Bytes bytes = std::as_bytes(std::span(row.groups));
    groups.insert(groups.end(), bytes.begin(), bytes.end());
    scales.push_back(f32_to_f16(row.scale));
  }
  const auto outputs = static_cast<std::int64_t>(rows.size());
  const auto per_row = [&](std::size_t size) {
    return outputs == 0 ? 0 : static_cast<std::int64_t>(size) / outputs;
  };
  return {{name, Tensor::from_bytes(DType::u8, {outputs, per_row(codes.size())}, codes)},
          {name + std::string(groups_suffix),
           Tensor::from_bytes(DType::i8, {outputs, per_row(groups.size())}, groups)},
          {name + "_scale", Tensor::from_bytes(DType::f16, {outputs},
                                               std::as_bytes(std::span(std::as_const(scales))))}};
}

}  // namespace

NamedTensors stored_tensors(const std::string& name, std::span<const N4Row> rows) {
  const auto put = [&](const std::vector<std::uint8_t>& codes, std::vector<std::byte>& out) {
    LINNET_CHECK(codes.size() % 2 == 0, name);
    for (std::size_t i = 0; i < codes.size(); i += 2) {
      out.push_back(static_cast<std::byte>(codes[i] | codes[i + 1] << 4));
    }
  };
  return grouped_tensors(name, "_groups", rows, put);
}

NamedTensors stored_tensors(const std::string& name, std::span<const S6Row> rows) {
  const auto put = [&](const std::vector<std::int8_t>& codes, std::vector<std::byte>& out) {
    LINNET_CHECK(codes.size() % 4 == 0, name);
    for (std::size_t i = 0; i < codes.size(); i += 4) {
      int four = 0;
      for (std::size_t j = 0; j < 4; ++j) four |= (codes[i + j] + 32) << (6 * j);
      for (int shift = 0; shift < 24; shift += 8) {
        out.push_back(static_cast<std::byte>(four >> shift & 255));
      }
    }
  };
  return grouped_tensors(name, "_groups64", rows, put);
}

}  // namespace linnet
