#include "engine/log_probabilities.h"

#include <algorithm>
#include <array>
#include <cfloat>

#include "base/error.h"
#include "engine/logits.h"
#include "tensor/functions.h"

namespace linnet {
namespace {

// The logarithm of the sum of e^logit: f32 exponentials summed in f64.
double log_sum(std::span<const float> logits, float largest) {
  constexpr std::size_t kPiece = 1024;
  std::array<float, kPiece> weights;
  double total = 0;
  for (std::size_t first = 0; first < logits.size(); first += kPiece) {
    const std::size_t count = std::min(kPiece, logits.size() - first);
    exponentials(logits.data() + first, static_cast<std::int64_t>(count), largest, weights.data());
    total += lane_sum(count, [&](std::size_t i) { return weights[i]; });
  }
  return largest + natural_log(total);
}

float log_probability(float logit, double shift) {
  return static_cast<float>(static_cast<double>(logit) - shift);
}

}  // namespace

RowLogProbs row_log_probabilities(std::span<const float> logits, TokenId chosen, std::size_t top) {
  LINNET_CHECK(chosen >= 0 && static_cast<std::size_t>(chosen) < logits.size());
  LINNET_CHECK(top <= kMaxTopLogProbs);
  const double shift = log_sum(logits, check_logits(logits));
  RowLogProbs out;
  out.chosen = {chosen, log_probability(logits[static_cast<std::size_t>(chosen)], shift)};
  if (top == 0) return out;
  std::vector<float> scratch;
  const float bound = std::max(common_bound(logits, top, scratch), -FLT_MAX);
  std::vector<TokenLogProb> best;
  for_each_at_least(logits, bound, [&](std::size_t i) {
    best.push_back({static_cast<TokenId>(i), logits[i]});
  });
  // By logit: rounding makes some log-probabilities equal.
  std::stable_sort(best.begin(), best.end(), [](const TokenLogProb& a, const TokenLogProb& b) {
    return a.log_probability > b.log_probability;
  });
  best.resize(std::min(best.size(), top));
  for (TokenLogProb& item : best)
    item.log_probability = log_probability(item.log_probability, shift);
  out.top = std::move(best);
  return out;
}

std::vector<float> log_probabilities(std::span<const float> logits) {
  const double shift = log_sum(logits, check_logits(logits));
  std::vector<float> out(logits.size());
  for (std::size_t id = 0; id < logits.size(); ++id) out[id] = log_probability(logits[id], shift);
  return out;
}

}  // namespace linnet
