#include "formats/tied_head.h"

#include <algorithm>
#include <string_view>

namespace linnet {
namespace {

constexpr std::string_view kHead = "lm_head.weight";
constexpr std::string_view kEmbedding = "model.embed_tokens.weight";

}  // namespace

OwnHead find_own_head(const ModelFiles& files) {
  if (!files.has(kHead)) return OwnHead::absent;
  if (!files.has(kEmbedding)) return OwnHead::different;
  const Tensor head = files.tensor(kHead);
  const Tensor embedding = files.tensor(kEmbedding);
  const bool equal = head.dtype() == embedding.dtype() && head.shape() == embedding.shape() &&
                     std::ranges::equal(head.bytes(), embedding.bytes());
  return equal ? OwnHead::equal : OwnHead::different;
}

bool config_ties_head(const Json& config) {
  const Json* tied = config.find("tie_word_embeddings");
  if (tied != nullptr && !tied->is_null()) return tied->as_bool("tie_word_embeddings");
  const Json* type = config.find("model_type");
  return type != nullptr && *type == Json("smollm3");
}

}  // namespace linnet
