// The model, written once: a configuration becomes the program that every consumer walks.
#pragma once

#include <string_view>

#include "model/config.h"
#include "program/program.h"

namespace linnet {

// Weight slots are named as in Hugging Face files, without the prefix "model.":
// "embed_tokens.weight", "layers.0.self_attn.q_proj.weight", "norm.weight"; a task head's have
// their whole names: "lm_head.weight", "score.weight", "qa_outputs.bias".
Program build_program(const ModelConfig& config);

// Whether a slot belongs to the task head, not to the decoder below it.
bool is_head_weight(std::string_view slot_name);

}  // namespace linnet
