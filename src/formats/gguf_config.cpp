// The configuration of a GGUF file in the spelling of config.json.
#include <fmt/core.h>

#include <cstdlib>
#include <limits>

#include "base/error.h"
#include "formats/gguf_model.h"

namespace linnet {
namespace {

constexpr std::int64_t kMaxSize = std::numeric_limits<std::int32_t>::max();

// What differs between the architectures. The interval at which layers of SmolLM3 have no rotation
// is not in the metadata.
struct Architecture {
  std::string_view name;
  std::string_view model_class;
  std::int64_t no_rope_interval;  // 0: every layer rotates
};
constexpr Architecture kArchitectures[] = {
    {"llama", "LlamaForCausalLM", 0},
    {"smollm3", "SmolLM3ForCausalLM", 4},
};

const Architecture& architecture_of(const GgufFile& file) {
  const std::string_view name = file.at("general.architecture").as_string();
  for (const Architecture& known : kArchitectures) {
    if (known.name == name) return known;
  }
  fail(ErrorCode::unsupported,
       fmt::format("{}: the architecture {} is not supported; Linnet runs llama and smollm3",
                   file.name(), json_quote(name)));
}

// The keys that start with the architecture's name.
class ArchitectureKeys {
 public:
  ArchitectureKeys(const GgufFile& file, std::string_view architecture)
      : file_(file), prefix_(std::string(architecture) + ".") {}

  const GgufValue* find(std::string_view key) const {
    return file_.find(prefix_ + std::string(key));
  }
  std::int64_t size(std::string_view key) const {
    return file_.at(prefix_ + std::string(key)).as_int_in(1, kMaxSize);
  }
  std::int64_t size(std::string_view key, std::int64_t otherwise) const {
    return find(key) == nullptr ? otherwise : size(key);
  }
  double number(std::string_view key, double otherwise) const {
    const GgufValue* value = find(key);
    return value == nullptr ? otherwise : shortest_double(*value);
  }

 private:
  const GgufFile& file_;
  std::string prefix_;
};

// The number of key-value heads may be one number, or one per layer when all are equal.
std::int64_t kv_heads(const ArchitectureKeys& keys, const GgufFile& file, std::int64_t heads) {
  const GgufValue* value = keys.find("attention.head_count_kv");
  if (value == nullptr) return heads;
  if (value->type() != GgufType::array) return value->as_int_in(1, kMaxSize);
  const std::vector<std::int64_t> counts = value->as_ints();
  for (const std::int64_t count : counts) {
    if (count != counts[0] || count < 1 || count > kMaxSize) {
      fail(ErrorCode::unsupported,
           fmt::format("{}: attention.head_count_kv must be the same number in all layers",
                       file.name()));
    }
  }
  return counts.empty() ? heads : counts[0];
}

void add_head_sizes(const ArchitectureKeys& keys, const GgufFile& file, Json& config) {
  const std::int64_t hidden = keys.size("embedding_length");
  const std::int64_t heads = keys.size("attention.head_count");
  const std::int64_t head_dim =
      keys.size("attention.key_length", keys.size("rope.dimension_count", hidden / heads));
  if (keys.size("attention.value_length", head_dim) != head_dim ||
      keys.size("rope.dimension_count", head_dim) != head_dim) {
    fail(ErrorCode::unsupported,
         fmt::format("{}: attention.key_length {}, attention.value_length and rope.dimension_count "
                     "must be equal",
                     file.name(), head_dim));
  }
  config.set("hidden_size", hidden);
  config.set("num_attention_heads", heads);
  config.set("num_key_value_heads", kv_heads(keys, file, heads));
  config.set("head_dim", head_dim);
}

// Files of Llama 3.1 and later hold the divisors of all frequencies as a tensor; longrope with
// equal short and long factors and no attention factor is the same computation.
Json rope_factors(const GgufFile& file, std::int64_t positions) {
  Json factors = Json::array();
  for (const float factor : file.tensor("rope_freqs.weight").to_floats()) {
    factors.push_back(static_cast<double>(factor));
  }
  Json scaling = Json::object();
  scaling.set("rope_type", "longrope");
  scaling.set("factor", 1.0);
  scaling.set("attention_factor", 1.0);
  scaling.set("short_factor", factors);
  scaling.set("long_factor", std::move(factors));
  scaling.set("original_max_position_embeddings", positions);
  return scaling;
}

Json rope_scaling(const ArchitectureKeys& keys, const GgufFile& file, std::int64_t positions) {
  const GgufValue* value = keys.find("rope.scaling.type");
  std::string_view type = value == nullptr ? "none" : value->as_string();
  const double old_linear = keys.number("rope.scale_linear", 1.0);
  if (value == nullptr && old_linear != 1.0) type = "linear";
  const bool has_factors = file.find_tensor("rope_freqs.weight") != nullptr;
  if (type == "none") return has_factors ? rope_factors(file, positions) : Json();
  if (has_factors || (type != "linear" && type != "yarn")) {
    fail(ErrorCode::unsupported,
         fmt::format("{}: rope.scaling.type {}{} is not supported; known are none, linear and yarn",
                     file.name(), json_quote(type), has_factors ? " with rope_freqs.weight" : ""));
  }
  Json scaling = Json::object();
  scaling.set("rope_type", type);
  scaling.set("factor", keys.number("rope.scaling.factor", old_linear));
  if (type == "yarn" && keys.find("rope.scaling.original_context_length") != nullptr) {
    scaling.set("original_max_position_embeddings",
                keys.size("rope.scaling.original_context_length"));
  }
  return scaling;
}

std::int64_t vocab_size(const ArchitectureKeys& keys, const GgufFile& file) {
  const TensorInfo* embedding = file.find_tensor("token_embd.weight");
  if (embedding != nullptr && embedding->shape.size() == 2) return embedding->shape[0];
  if (const GgufValue* tokens = file.find("tokenizer.ggml.tokens")) {
    return static_cast<std::int64_t>(tokens->count());
  }
  return keys.size("vocab_size");
}

std::string_view torch_type(const GgufFile& file) {
  const TensorInfo* embedding = file.find_tensor("token_embd.weight");
  if (embedding != nullptr && embedding->dtype == DType::bf16) return "bfloat16";
  if (embedding != nullptr && embedding->dtype == DType::f16) return "float16";
  return "float32";
}

struct SpecialId {
  std::string_view key;
  std::string_view name;
};
constexpr SpecialId kSpecialIds[] = {
    {"tokenizer.ggml.bos_token_id", "bos_token_id"},
    {"tokenizer.ggml.eos_token_id", "eos_token_id"},
    {"tokenizer.ggml.padding_token_id", "pad_token_id"},
};
// Tokens that end a turn or a message: generation stops at them too.
constexpr std::string_view kFurtherStops[] = {"tokenizer.ggml.eot_token_id",
                                              "tokenizer.ggml.eom_token_id"};

// Nothing when the key is absent, or is the "none" of some converters: -1 or 2^32 - 1.
std::optional<std::int64_t> special_id(const GgufFile& file, std::string_view key) {
  const GgufValue* value = file.find(key);
  if (value == nullptr) return std::nullopt;
  const std::int64_t id = value->as_int();
  if (id == -1 || id == std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return value->as_int_in(0, kMaxSize);
}

}  // namespace

double shortest_double(const GgufValue& value) {
  const double number = value.as_double();
  if (value.type() != GgufType::f32) return number;
  return std::strtod(fmt::format("{}", static_cast<float>(number)).c_str(), nullptr);
}

Json gguf_config(const GgufFile& file) {
  const Architecture& architecture = architecture_of(file);
  const ArchitectureKeys keys(file, architecture.name);
  const std::int64_t positions = keys.size("context_length");
  Json config = Json::object();
  config.set("architectures", Json::Array{Json(architecture.model_class)});
  config.set("model_type", architecture.name);
  config.set("vocab_size", vocab_size(keys, file));
  add_head_sizes(keys, file, config);
  config.set("intermediate_size", keys.size("feed_forward_length"));
  config.set("num_hidden_layers", keys.size("block_count"));
  config.set("max_position_embeddings", positions);
  config.set("hidden_act", "silu");
  config.set("rms_norm_eps", keys.number("attention.layer_norm_rms_epsilon", 1e-5));
  config.set("rope_theta", keys.number("rope.freq_base", 10000.0));
  config.set("rope_scaling", rope_scaling(keys, file, positions));
  if (architecture.no_rope_interval > 0) {
    config.set("no_rope_layer_interval", architecture.no_rope_interval);
  }
  config.set("attention_bias", file.find_tensor("blk.0.attn_q.bias") != nullptr);
  config.set("mlp_bias", file.find_tensor("blk.0.ffn_gate.bias") != nullptr);
  config.set("tie_word_embeddings", file.find_tensor("output.weight") == nullptr);
  config.set("torch_dtype", torch_type(file));
  for (const SpecialId& special : kSpecialIds) {
    const auto id = special_id(file, special.key);
    config.set(special.name, id ? Json(*id) : Json());
  }
  return config;
}

Json gguf_generation_config(const GgufFile& file) {
  Json config = Json::object();
  Json stops = Json::array();
  for (const SpecialId& special : kSpecialIds) {
    const auto id = special_id(file, special.key);
    if (id && special.name == "eos_token_id") stops.push_back(*id);
    if (id && special.name != "eos_token_id") config.set(special.name, *id);
  }
  for (const std::string_view key : kFurtherStops) {
    if (const auto id = special_id(file, key)) stops.push_back(*id);
  }
  if (stops.size() > 0) config.set("eos_token_id", std::move(stops));
  add_gguf_sampling(file, config);
  return config.size() == 0 ? Json() : config;
}

}  // namespace linnet
