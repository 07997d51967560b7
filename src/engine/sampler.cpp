#include "engine/sampler.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "engine/logits.h"

namespace linnet {

Sampler::Sampler(const GenerationConfig& config, std::uint64_t seed,
                 std::optional<std::size_t> prompt_length)
    : is_greedy_(config.is_greedy()),
      xtc_probability_(config.xtc_probability),
      mirostat_{config.mirostat, config.mirostat_tau, config.mirostat_eta, 2 * config.mirostat_tau},
      chain_((config.check(), config)),
      prompt_length_(prompt_length),
      random_(seed),
      key_(random_.next_key()) {
  if (config.dry_multiplier > 0 && !config.dry_breaker_texts.empty()) {
    fail(ErrorCode::invalid_argument,
         "dry_sequence_breakers: texts need the model's tokenizer; give ids");
  }
}

void Sampler::see(std::span<const TokenId> ids) {
  if (!prompt_length_) prompt_length_ = ids.size();
  for (const TokenId id : ids) {
    LINNET_CHECK(id >= 0);
    if (ids_.size() >= *prompt_length_) {
      key_ = random_.next_key();
      // An id that was forced says nothing about the aim.
      if (mirostat_.chosen == id)
        mirostat_.mu -= mirostat_.eta * (mirostat_.surprise - mirostat_.tau);
      mirostat_.chosen.reset();
    }
    ids_.push_back(id);
  }
}

Choice Sampler::choose(std::span<const float> logits) {
  const float largest = check_logits(logits);
  if (chain_.empty()) {
    return {
        static_cast<TokenId>(std::find(logits.begin(), logits.end(), largest) - logits.begin())};
  }
  // The key's halves: XTC draws with one, the choice with the other.
  const auto keys = split_in_two(key_);
  const float xtc = xtc_probability_ > 0 ? random_uniform(keys[0]) : 1.0f;
  const std::size_t prompt = prompt_length_.value_or(0);
  Candidates& candidates = chain_.run(ids_, std::min(prompt, ids_.size()), logits, xtc);
  if (is_greedy_) {
    const TokenId first = first_maximum(candidates.scores());
    return {candidates.id(static_cast<std::size_t>(first))};
  }
  if (mirostat_.version > 0) keep_mirostat(candidates);
  const Choice choice = draw(candidates, random_uniform(keys[1]));
  if (mirostat_.version > 0) {
    mirostat_.chosen = choice.id;
    mirostat_.surprise = static_cast<float>(-natural_log(choice.probability) / 0.69314718055994531);
  }
  return choice;
}

void Sampler::keep_mirostat(Candidates& candidates) {
  if (mirostat_.version == 1) {
    keep_mirostat_1(candidates, mirostat_.mu, scratch_);
  } else {
    keep_mirostat_2(candidates, mirostat_.mu);
  }
}

Choice Sampler::draw(Candidates& candidates, float uniform) {
  const float total = candidates.total();
  const std::span<const float> weights = candidates.weights();
  // The sum of the probabilities as they are rounded, which never falls; and what it was before
  // each piece, so that only one piece has to be added up again.
  constexpr std::size_t kMostPieces = 512;
  std::array<float, kMostPieces> before;
  const std::size_t piece = weights.size() / kMostPieces + 1;
  float all = 0;
  std::size_t pieces = 0;
  for (std::size_t first = 0; first < weights.size(); first += piece) {
    before[pieces++] = all;
    const std::size_t end = std::min(first + piece, weights.size());
    for (std::size_t i = first; i < end; ++i) all += weights[i] / total;
  }
  const float threshold = all * (1.0f - uniform);
  const auto behind = std::upper_bound(before.begin(), before.begin() + pieces, threshold);
  const auto at = std::max<std::ptrdiff_t>(behind - before.begin() - 1, 0);
  float running = before[static_cast<std::size_t>(at)];
  std::size_t last = 0;
  for (std::size_t i = static_cast<std::size_t>(at) * piece; i < weights.size(); ++i) {
    last = i;
    running += weights[i] / total;
    if (running > threshold) break;
  }
  // A draw of exactly 0 puts the threshold on the total, which nothing exceeds: the last possible.
  return {candidates.id(last), weights[last] / total, uniform};
}

}  // namespace linnet
