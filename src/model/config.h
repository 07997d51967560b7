// ModelConfig: everything that makes one decoder differ from another, as data. Read from the
// config.json of a Hugging Face directory (or what formats/ made of a GGUF file's metadata).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "model/task_head.h"
#include "tensor/functions.h"

namespace linnet {

// The rotation. Numbers that the type does not use keep their defaults.
struct RopeConfig {
  std::string type = "default";  // or linear, dynamic, llama3, yarn, longrope
  double theta = 0;
  double factor = 1;                    // absent: the ratio of the lengths (yarn, longrope)
  std::int64_t original_positions = 0;  // that the model was first trained with
  double attention_factor = 0;          // on cos and sin; 0: by the type's formula
  double beta_fast = 32;                // yarn
  double beta_slow = 1;
  double mscale = 0;
  double mscale_all_dim = 0;
  bool truncate = true;
  double low_freq_factor = 0;  // llama3
  double high_freq_factor = 0;
  std::vector<double> short_factor;  // longrope: [head_dim / 2]
  std::vector<double> long_factor;
};

struct ModelConfig {
  std::string name;          // of the file, for messages
  std::string architecture;  // "SmolLM3ForCausalLM"; with another head loaded, that one's class
  std::string model_type;    // "smollm3"
  TaskHead task_head = TaskHead::causal_lm;
  // The classes of the two classifiers, by index; "LABEL_0", ... when the config names none. Empty
  // for the other heads.
  std::vector<std::string> labels;
  ProblemType problem_type = ProblemType::unset;

  std::int64_t vocab = 0;
  std::int64_t hidden = 0;
  std::int64_t ffn = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t max_positions = 0;  // of the config; what a sequence may have, context() tells

  float epsilon = 0;
  Activation activation = Activation::silu;
  bool attention_bias = false;
  bool mlp_bias = false;
  bool tied_head = true;
  // The embedding is its table times factors of the columns (a table that was smoothed as a head).
  bool embedding_factors = false;

  RopeConfig rope;
  std::vector<bool> layer_has_rope;        // [layers]
  std::vector<std::int64_t> layer_window;  // [layers]: sliding window, 0 for full attention

  std::vector<std::int32_t> eos;  // may be empty
  std::int32_t bos = -1;
  std::int32_t pad = -1;
  float initializer_range = 0.02f;  // standard deviation of new weights

  std::vector<std::string> unknown_keys;  // of the file; they change nothing here
  std::vector<std::string> notes;         // where the file disagrees with itself, a sentence each

  // Positions that a sequence may have: a dynamic rotation is there to go beyond max_positions.
  std::int64_t context() const;

  // `name` is the file's, for messages. A `task_head` takes the place of the architecture's own.
  // Errors: invalid_argument naming the field; unsupported naming the architecture, activation,
  // rope type or a key whose value asks for something that Linnet does not compute. Other unknown
  // keys are collected.
  static ModelConfig from_json(const Json& config, const std::string& name,
                               std::optional<TaskHead> task_head = {});
};

}  // namespace linnet
