// ModelConfig: everything that makes one decoder differ from another, as data. Read from the
// config.json of a Hugging Face directory (or what formats/ made of a GGUF file's metadata).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "tensor/functions.h"

namespace linnet {

enum class TaskHead : std::uint8_t { none, causal_lm };

struct RopeConfig {
  std::string type = "default";
  double theta = 0;
  Json parameters;  // the object the config gave: factor, original_max_position_embeddings, ...
};

struct ModelConfig {
  std::string name;          // of the file, for messages
  std::string architecture;  // "SmolLM3ForCausalLM"
  std::string model_type;    // "smollm3"
  TaskHead task_head = TaskHead::causal_lm;

  std::int64_t vocab = 0;
  std::int64_t hidden = 0;
  std::int64_t ffn = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t max_positions = 0;

  float epsilon = 0;
  Activation activation = Activation::silu;
  bool attention_bias = false;
  bool mlp_bias = false;
  bool tied_head = true;

  RopeConfig rope;
  std::vector<bool> layer_has_rope;        // [layers]
  std::vector<std::int64_t> layer_window;  // [layers]: sliding window, 0 for full attention

  std::vector<std::int32_t> eos;  // may be empty
  std::int32_t bos = -1;
  std::int32_t pad = -1;

  // Errors: invalid_argument naming the field; unsupported naming the architecture, activation or
  // rope type. Unknown keys are ignored (`name` is the file's, for messages).
  static ModelConfig from_json(const Json& config, const std::string& name);
};

}  // namespace linnet
