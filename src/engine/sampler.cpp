#include "engine/sampler.h"

#include "base/error.h"
#include "engine/logits.h"

namespace linnet {

Sampler::Sampler(const GenerationConfig& config, std::uint64_t seed)
    : greedy_(!config.sample || config.temperature <= kGreedyTemperature),
      temperature_(config.temperature),
      top_k_(config.top_k),
      top_p_(config.top_p.value_or(1.0f)),
      min_p_(config.min_p),
      repetition_penalty_(config.repetition_penalty),
      random_(seed) {
  config.check();
}

void Sampler::see(std::span<const TokenId> ids) {
  if (repetition_penalty_ == 1.0f) return;
  for (const TokenId id : ids) {
    LINNET_CHECK(id >= 0);
    const auto index = static_cast<std::size_t>(id);
    if (index >= is_seen_.size()) is_seen_.resize(index + 1);
    if (is_seen_[index]) continue;
    is_seen_[index] = true;
    distinct_.push_back(id);
  }
}

Choice Sampler::choose(std::span<const float> logits) {
  check_logits(logits);
  LINNET_CHECK(is_seen_.size() <= logits.size(), "an id that was seen has no logit");
  if (greedy_ && distinct_.empty()) return {first_maximum(logits)};
  scores_.assign(logits.begin(), logits.end());
  penalize_repetition(scores_, distinct_, repetition_penalty_);
  if (greedy_) return {first_maximum(scores_)};
  divide_by_temperature(scores_, temperature_);
  keep_top_k(scores_, top_k_);
  keep_top_p(scores_, top_p_);
  keep_min_p(scores_, min_p_);
  return draw();
}

Choice Sampler::draw() {
  probabilities(scores_, probabilities_);
  float total = 0;
  for (const float p : probabilities_) total += p;
  const float uniform = random_.next_uniform();
  const float threshold = total * (1.0f - uniform);
  float running = 0;
  std::size_t last = 0;
  for (std::size_t id = 0; id < probabilities_.size(); ++id) {
    if (probabilities_[id] == 0.0f) continue;
    last = id;
    running += probabilities_[id];
    if (running > threshold) break;
  }
  // A draw of exactly 0 puts the threshold on the total, which nothing exceeds: the last possible.
  return {static_cast<TokenId>(last), probabilities_[last], uniform};
}

}  // namespace linnet
