#include "model/config.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "formats/coded_weights.h"
#include "model/config_fields.h"

namespace linnet {
namespace {

// Larger than any decoder this library is for; keeps every later product far from overflow.
constexpr std::int64_t kMostLayers = 1024;
constexpr std::int64_t kWidest = std::int64_t{1} << 20;
constexpr std::int64_t kLargestVocab = std::int64_t{1} << 24;
constexpr std::int64_t kMostPositions = std::int64_t{1} << 28;

void read_sizes(const ConfigFields& fields, ModelConfig& config) {
  config.vocab = fields.size("vocab_size", kLargestVocab);
  config.hidden = fields.size("hidden_size", kWidest);
  config.ffn = fields.size("intermediate_size", kWidest);
  config.layers = fields.size("num_hidden_layers", kMostLayers);
  config.heads = fields.size("num_attention_heads", kWidest);
  config.kv_heads = fields.size_or("num_key_value_heads", kWidest, config.heads);
  config.head_dim = fields.size_or("head_dim", kWidest, config.hidden / config.heads);
  config.max_positions = fields.size("max_position_embeddings", kMostPositions);
  if (config.heads % config.kv_heads != 0) {
    fail(ErrorCode::invalid_argument,
         fmt::format("{} ({}) is not a multiple of num_key_value_heads ({})",
                     fields.label("num_attention_heads"), config.heads, config.kv_heads));
  }
  if (config.head_dim % 2 != 0 || config.head_dim == 0) {
    fail(ErrorCode::invalid_argument,
         fmt::format("{} ({}) must be even and not 0: the rotation pairs "
                     "its two halves",
                     fields.label("head_dim"), config.head_dim));
  }
  if (config.heads * config.head_dim > kWidest) {
    fail(ErrorCode::invalid_argument,
         fmt::format("{}: {} heads of {} are too wide", fields.label("head_dim"), config.heads,
                     config.head_dim));
  }
}

// transformers has several names for one function; gelu_tanh is the approximation by tanh.
Activation read_activation(const ConfigFields& fields) {
  constexpr std::pair<std::string_view, Activation> kNames[] = {
      {"silu", Activation::silu},
      {"swish", Activation::silu},
      {"relu", Activation::relu},
      {"gelu", Activation::gelu},
      {"gelu_python", Activation::gelu},
      {"gelu_new", Activation::gelu_tanh},
      {"gelu_fast", Activation::gelu_tanh},
      {"gelu_accurate", Activation::gelu_tanh},
      {"gelu_pytorch_tanh", Activation::gelu_tanh},
  };
  const std::string name = fields.text("hidden_act", "silu");
  std::string known;
  for (const auto& [other, activation] : kNames) {
    if (other == name) return activation;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", other);
  }
  fail(ErrorCode::unsupported,
       fmt::format("{}: activation \"{}\" is none of {}", fields.label("hidden_act"), name, known));
}

// SmolLM3 rotates where no_rope_layers has a 1; without the list, in all layers but every
// interval-th. Llama rotates everywhere.
std::vector<bool> read_rope_layers(const ConfigFields& fields, const ModelConfig& config) {
  const auto layers = static_cast<std::size_t>(config.layers);
  std::vector<bool> rotates(layers, true);
  if (const Json* list = fields.find("no_rope_layers"); list != nullptr) {
    const Json::Array& flags = list->as_array(fields.label("no_rope_layers"));
    if (flags.size() < layers) {
      fail(ErrorCode::invalid_argument,
           fmt::format("{} has {} entries for {} layers", fields.label("no_rope_layers"),
                       flags.size(), layers));
    }
    for (std::size_t i = 0; i < layers; ++i) {
      rotates[i] = flags[i].is_bool()
                       ? flags[i].as_bool()
                       : flags[i].as_int_in(0, 1, fields.label("no_rope_layers")) != 0;
    }
    return rotates;
  }
  if (config.model_type != "smollm3") return rotates;
  const std::int64_t interval = fields.size_or("no_rope_layer_interval", kMostLayers, 4);
  for (std::size_t i = 0; i < layers; ++i)
    rotates[i] = (i + 1) % static_cast<std::size_t>(interval) != 0;
  return rotates;
}

// Layers named sliding_attention see `sliding_window` keys. Without the list, SmolLM3 slides in the
// layers without rotation when use_sliding_window is on.
std::vector<std::int64_t> read_windows(const ConfigFields& fields, const ModelConfig& config) {
  const auto layers = static_cast<std::size_t>(config.layers);
  std::vector<std::int64_t> windows(layers, 0);
  const std::int64_t window = fields.size_or("sliding_window", kMostPositions, 0);
  if (const Json* list = fields.find("layer_types"); list != nullptr && list->size() > 0) {
    const Json::Array& types = list->as_array(fields.label("layer_types"));
    if (types.size() < layers) {
      fail(ErrorCode::invalid_argument,
           fmt::format("{} has {} entries for {} layers", fields.label("layer_types"), types.size(),
                       layers));
    }
    for (std::size_t i = 0; i < layers; ++i) {
      const std::string& type = types[i].as_string(fields.label("layer_types"));
      if (type != "full_attention" && type != "sliding_attention") {
        fail(ErrorCode::unsupported, fmt::format("{}[{}]: \"{}\" is neither full_attention nor "
                                                 "sliding_attention",
                                                 fields.label("layer_types"), i, type));
      }
      if (type == "sliding_attention") windows[i] = window;
    }
    return windows;
  }
  if (!fields.flag("use_sliding_window", false)) return windows;
  for (std::size_t i = 0; i < layers; ++i) windows[i] = config.layer_has_rope[i] ? 0 : window;
  return windows;
}

void read_token_ids(const ConfigFields& fields, ModelConfig& config) {
  constexpr std::int64_t kMostId = kLargestVocab;
  const auto id_of = [&](const Json& value, std::string_view key) {
    return static_cast<std::int32_t>(value.as_int_in(-1, kMostId, fields.label(key)));
  };
  if (const Json* bos = fields.find("bos_token_id")) config.bos = id_of(*bos, "bos_token_id");
  if (const Json* pad = fields.find("pad_token_id")) config.pad = id_of(*pad, "pad_token_id");
  const Json* eos = fields.find("eos_token_id");
  if (eos == nullptr) return;
  if (!eos->is_array()) return config.eos.push_back(id_of(*eos, "eos_token_id"));
  for (const Json& id : eos->as_array()) config.eos.push_back(id_of(id, "eos_token_id"));
}

}  // namespace

ModelConfig ModelConfig::from_json(const Json& json, const std::string& name,
                                   std::optional<TaskHead> task_head) {
  if (!json.is_object()) {
    fail(ErrorCode::invalid_argument,
         fmt::format("{}: expected an object, found {}", name, json.type_name()));
  }
  const ConfigFields fields(json, name);
  ModelConfig config;
  config.name = name;
  read_task_head(fields, task_head, config);
  read_sizes(fields, config);
  config.activation = read_activation(fields);
  config.epsilon = fields.fraction("rms_norm_eps", 1e-6f);
  config.initializer_range = fields.fraction("initializer_range", 0.02f);
  config.attention_bias = fields.flag("attention_bias", false);
  config.mlp_bias = fields.flag("mlp_bias", false);
  // Absent, transformers' class default counts: SmolLM3 ties head and embedding, Llama does not.
  config.embedding_factors = fields.flag("embedding_factors", false);
  config.tied_head = fields.flag("tie_word_embeddings", config.model_type == "smollm3");
  read_rope(fields, config);
  config.layer_has_rope = read_rope_layers(fields, config);
  config.layer_window = read_windows(fields, config);
  read_token_ids(fields, config);
  read_unknown_keys(fields, config);
  require_known_coding(json, name);
  return config;
}

std::int64_t ModelConfig::context() const {
  if (rope.type != "dynamic") return max_positions;
  const double grown = static_cast<double>(max_positions) * std::max(1.0, rope.factor);
  return static_cast<std::int64_t>(std::min(grown, 2147483647.0));
}

}  // namespace linnet
