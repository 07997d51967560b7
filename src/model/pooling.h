// Which row of a sequence a sequence classifier reads. The decoder is causal, so it must be the
// last real token; implementations disagree about which one that is.
#pragma once

#include <cstdint>
#include <vector>

#include "model/padded_batch.h"

namespace linnet {

enum class PoolingRule : std::uint8_t {
  // transformers: the right-most id that is not the pad id; the right-most unmasked column for
  // embeddings, or when there is no pad id (then only one row is allowed).
  rightmost_not_pad,
  // Bumblebee: the number of ids that are not the pad id, minus one; it misses the text when the
  // padding is on the left.
  count_not_pad,
  // The right-most unmasked column, whatever its id. Needs no pad id.
  rightmost_unmasked,
};

// The column of each batch row, [batch]; -1 where the rule points at none, or at a masked one.
// Masked columns count as pad ids. Where no id differs from the pad id both rules of an id take
// column 0, as their originals do. Errors: those of make_ragged; invalid_argument for
// rightmost_not_pad with several rows and no pad id (`pad_id` below 0), unsupported for packed
// documents.
std::vector<std::int64_t> pooled_columns(const PaddedBatch& padded, PoolingRule rule,
                                         std::int32_t pad_id);

}  // namespace linnet
