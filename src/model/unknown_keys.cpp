// Keys of a config that nothing else reads: refused when their value asks for a computation that
// Linnet does not have, passed over when they are known to change no result, else collected.
#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "model/config_fields.h"

namespace linnet {
namespace {

// Read by this room, whether or not this config's other keys made it look.
constexpr std::string_view kRead[] = {"architectures",
                                      "model_type",
                                      "vocab_size",
                                      "hidden_size",
                                      "intermediate_size",
                                      "num_hidden_layers",
                                      "num_attention_heads",
                                      "num_key_value_heads",
                                      "head_dim",
                                      "max_position_embeddings",
                                      "hidden_act",
                                      "rms_norm_eps",
                                      "initializer_range",
                                      "attention_bias",
                                      "mlp_bias",
                                      "tie_word_embeddings",
                                      "embedding_factors",
                                      "rope_theta",
                                      "rope_scaling",
                                      "rope_parameters",
                                      "original_max_position_embeddings",
                                      "no_rope_layers",
                                      "no_rope_layer_interval",
                                      "layer_types",
                                      "sliding_window",
                                      "use_sliding_window",
                                      "bos_token_id",
                                      "eos_token_id",
                                      "pad_token_id",
                                      "id2label",
                                      "label2id",
                                      "num_labels",
                                      "problem_type",
                                      "quantization_config",
                                      "quantization"};

// What they say does not matter here: training, other programs, the type that is in the files
// anyway, caching, tensor parallelism.
constexpr std::string_view kHarmless[] = {"torch_dtype",
                                          "dtype",
                                          "transformers_version",
                                          "use_cache",
                                          "attention_dropout",
                                          "hidden_dropout",
                                          "classifier_dropout",
                                          "_name_or_path",
                                          "_attn_implementation",
                                          "auto_map",
                                          "pretraining_tp",
                                          "max_window_layers",
                                          "output_attentions",
                                          "output_hidden_states",
                                          "return_dict",
                                          "use_return_dict",
                                          "chunk_size_feed_forward",
                                          "finetuning_task",
                                          "task_specific_params",
                                          "gradient_checkpointing",
                                          "tokenizer_class",
                                          "transformers.js_config",
                                          "is_decoder"};

// The only number or flag with which nothing changes; null and absence are always fine.
struct Neutral {
  std::string_view key;
  double value;
};
constexpr Neutral kNeutral[] = {{"partial_rotary_factor", 1},
                                {"rotary_pct", 1},
                                {"logit_scale", 1},
                                {"logits_scaling", 1},
                                {"embedding_multiplier", 1},
                                {"residual_multiplier", 1},
                                {"scale_emb", 1},
                                {"num_local_experts", 0},
                                {"num_experts", 0},
                                {"n_routed_experts", 0},
                                {"use_qk_norm", 0},
                                {"qk_norm", 0},
                                {"parallel_attn", 0},
                                {"use_parallel_residual", 0},
                                {"is_encoder_decoder", 0},
                                {"add_cross_attention", 0},
                                {"alibi", 0}};
// There is no neutral value but null.
constexpr std::string_view kForeign[] = {"attn_logit_softcapping",
                                         "final_logit_softcapping",
                                         "attention_multiplier",
                                         "query_pre_attn_scalar",
                                         "clip_qkv",
                                         "attention_chunk_size"};

template <typename List>
bool contains(const List& list, std::string_view key) {
  return std::find(std::begin(list), std::end(list), key) != std::end(list);
}

bool is_neutral(const Json& value, double neutral) {
  if (value.is_bool()) return value.as_bool() == (neutral != 0);
  return value.is_number() && value.as_double() == neutral;
}

[[noreturn]] void refuse(const ConfigFields& fields, std::string_view key, const Json& value) {
  fail(ErrorCode::unsupported,
       fmt::format("{} is {}: Linnet does not compute what it asks for, and the result without it "
                   "would be wrong",
                   fields.label(key), value.dump()));
}

}  // namespace

void read_unknown_keys(const ConfigFields& fields, ModelConfig& config) {
  for (const auto& entry : fields.object().as_object()) {
    // Not a structured binding: clang 14 captures none.
    const auto& key = entry.first;
    const auto& value = entry.second;
    if (contains(kRead, key) || contains(kHarmless, key)) continue;
    const auto* known = std::find_if(std::begin(kNeutral), std::end(kNeutral),
                                     [&](const Neutral& neutral) { return neutral.key == key; });
    if (known != std::end(kNeutral)) {
      if (!value.is_null() && !is_neutral(value, known->value)) refuse(fields, key, value);
    } else if (contains(kForeign, key)) {
      if (!value.is_null()) refuse(fields, key, value);
    } else {
      config.unknown_keys.push_back(key);
    }
  }
}

}  // namespace linnet
