// The output matrix of a model whose config ties it to the embedding: whether the files hold one
// all the same, and whether it is the same.
#pragma once

#include <cstdint>

#include "formats/model_files.h"

namespace linnet {

enum class OwnHead : std::uint8_t {
  absent,     // as it should be for a tied model, and must not be for an untied one
  equal,      // bit for bit the embedding: storage wasted, nothing else
  different,  // the config and the weights contradict each other
};

// Compares the bytes, so it reads both matrices where both are there.
OwnHead find_own_head(const ModelFiles& files);

// tie_word_embeddings, or transformers' class default (SmolLM3 ties, Llama does not).
bool config_ties_head(const Json& config);

}  // namespace linnet
