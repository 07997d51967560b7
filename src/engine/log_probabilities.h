// Log-probabilities as they are reported: of the raw logits, whatever the processors do.
#pragma once

#include <span>
#include <vector>

#include "text/tokenizer_data.h"

namespace linnet {

struct TokenLogProb {
  TokenId id = 0;
  float log_probability = 0;
  bool operator==(const TokenLogProb&) const = default;
};

struct RowLogProbs {
  TokenLogProb chosen;            // also when it is not among the best
  std::vector<TokenLogProb> top;  // likeliest first, equals by id; no removed ids
};

inline constexpr std::size_t kMaxTopLogProbs = 20;

// Of the id `chosen` and the likeliest `top` <= kMaxTopLogProbs. Sums are f64.
// Errors: those of check_logits.
RowLogProbs row_log_probabilities(std::span<const float> logits, TokenId chosen, std::size_t top);

// Of every id.
std::vector<float> log_probabilities(std::span<const float> logits);

}  // namespace linnet
