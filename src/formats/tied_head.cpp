#include "formats/tied_head.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace linnet {
namespace {

constexpr std::string_view kHead = "lm_head.weight";
constexpr std::string_view kEmbedding = "model.embed_tokens.weight";

bool same_rows(const Tensor& a, const Tensor& b) {
  std::vector<float> left(static_cast<std::size_t>(a.dim(-1))), right(left.size());
  for (std::int64_t row = 0; row < a.rows(); ++row) {
    a.decode_row(row, left.data());
    b.decode_row(row, right.data());
    if (left != right) return false;
  }
  return true;
}

}  // namespace

OwnHead find_own_head(const ModelFiles& files) {
  if (!files.has(kHead)) return OwnHead::absent;
  if (!files.has(kEmbedding)) return OwnHead::different;
  const Tensor head = files.tensor(kHead);
  const Tensor embedding = files.tensor(kEmbedding);
  const bool equal = head.dtype() == embedding.dtype() && head.shape() == embedding.shape() &&
                     (head.coded_rows() ? same_rows(head, embedding)
                                        : std::ranges::equal(head.bytes(), embedding.bytes()));
  return equal ? OwnHead::equal : OwnHead::different;
}

bool config_ties_head(const Json& config) {
  const Json* tied = config.find("tie_word_embeddings");
  if (tied != nullptr && !tied->is_null()) return tied->as_bool("tie_word_embeddings");
  const Json* type = config.find("model_type");
  return type != nullptr && *type == Json("smollm3");
}

}  // namespace linnet
