#include <fmt/core.h>

#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "formats/gguf_model.h"
#include "formats/gguf_rows.h"

namespace linnet {
namespace {

struct NamePair {
  std::string_view gguf;
  std::string_view huggingface;
};
constexpr NamePair kModelNames[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
};
constexpr NamePair kLayerNames[] = {
    {"attn_norm", "input_layernorm"},    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},      {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"}, {"ffn_norm", "post_attention_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},       {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
};
constexpr std::string_view kGgufLayer = "blk.";
constexpr std::string_view kHuggingFaceLayer = "model.layers.";

struct Direction {
  std::string_view NamePair::*from;
  std::string_view NamePair::*to;
  std::string_view layer_from;
  std::string_view layer_to;
};

template <std::size_t N>
std::string_view look_up(const NamePair (&table)[N], std::string_view stem, const Direction& way) {
  for (const NamePair& pair : table) {
    if (pair.*way.from == stem) return pair.*way.to;
  }
  return {};
}

// "prefix.N.stem.kind" or "stem.kind", where kind is weight or bias.
std::string translate(std::string_view name, const Direction& way) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return std::string(name);
  const std::string_view kind = name.substr(dot);
  if (kind != ".weight" && kind != ".bias") return std::string(name);
  const std::string_view whole = name.substr(0, dot);
  if (!whole.starts_with(way.layer_from)) {
    const std::string_view stem = look_up(kModelNames, whole, way);
    return stem.empty() ? std::string(name) : fmt::format("{}{}", stem, kind);
  }
  const std::string_view rest = whole.substr(way.layer_from.size());
  const std::size_t end = rest.find('.');
  const std::string_view layer = rest.substr(0, end);
  if (end == std::string_view::npos || layer.empty() ||
      layer.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::string(name);
  }
  const std::string_view stem = look_up(kLayerNames, rest.substr(end + 1), way);
  if (stem.empty()) return std::string(name);
  return fmt::format("{}{}.{}{}", way.layer_to, layer, stem, kind);
}

class GgufWeights final : public Weights {
 public:
  explicit GgufWeights(std::shared_ptr<const GgufFile> file) : file_(std::move(file)) {
    const Json config = gguf_config(*file_);
    heads_ = config.at("num_attention_heads").as_int();
    kv_heads_ = config.at("num_key_value_heads").as_int();
    for (const TensorInfo& info : file_->tensors()) {
      index_.emplace(huggingface_name_of(info.name), tensors_.size());
      tensors_.push_back({huggingface_name_of(info.name), info.dtype, info.shape});
    }
  }

  const std::vector<TensorInfo>& tensors() const override { return tensors_; }

  const TensorInfo* find(std::string_view name) const override {
    const auto found = index_.find(std::string(name));
    return found == index_.end() ? nullptr : &tensors_[found->second];
  }

  Tensor tensor(std::string_view name) const override {
    const auto found = index_.find(std::string(name));
    if (found == index_.end()) {
      fail(ErrorCode::corrupt_file, fmt::format("{}: there is no such tensor", describe(name)));
    }
    const Tensor tensor = file_->tensor(file_->tensors()[found->second].name);
    if (name.find(".self_attn.q_proj.") != std::string_view::npos) {
      return reorder_head_rows(tensor, heads_, RowOrder::half_split, describe(name));
    }
    if (name.find(".self_attn.k_proj.") != std::string_view::npos) {
      return reorder_head_rows(tensor, kv_heads_, RowOrder::half_split, describe(name));
    }
    return tensor;
  }

  std::string describe(std::string_view name) const override {
    const std::string head = fmt::format("{}: tensor {}", file_->name(), gguf_name_of(name));
    const TensorInfo* info = find(name);
    if (info == nullptr) return fmt::format("{} ({})", head, name);
    return fmt::format("{} ({}, {} {})", head, name, gguf_type_name(info->dtype),
                       shape_text(info->shape));
  }

 private:
  std::shared_ptr<const GgufFile> file_;
  std::int64_t heads_ = 1;
  std::int64_t kv_heads_ = 1;
  std::vector<TensorInfo> tensors_;
  std::unordered_map<std::string, std::size_t> index_;
};

}  // namespace

std::string gguf_name_of(std::string_view name) {
  return translate(name, {&NamePair::huggingface, &NamePair::gguf, kHuggingFaceLayer, kGgufLayer});
}

std::string huggingface_name_of(std::string_view name) {
  return translate(name, {&NamePair::gguf, &NamePair::huggingface, kGgufLayer, kHuggingFaceLayer});
}

std::shared_ptr<const Weights> gguf_weights(std::shared_ptr<const GgufFile> file) {
  return std::make_shared<GgufWeights>(std::move(file));
}

}  // namespace linnet
