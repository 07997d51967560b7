// The model, written once: a configuration becomes the program that every consumer walks.
#pragma once

#include "model/config.h"
#include "program/program.h"

namespace linnet {

// Weight slots are named as in Hugging Face files, without the prefix "model.":
// "embed_tokens.weight", "layers.0.self_attn.q_proj.weight", "norm.weight"; an own head is
// "lm_head.weight".
Program build_program(const ModelConfig& config);

}  // namespace linnet
