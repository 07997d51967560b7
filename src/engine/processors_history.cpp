#include "engine/processors_history.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "engine/generation.h"
#include "engine/logits.h"

namespace linnet {
namespace {

using Ids = std::span<const TokenId>;
using Scores = std::span<float>;

// A processor from a function object; its state, if it has any, is in the object.
template <class Step>
class StepProcessor final : public LogitsProcessor {
 public:
  explicit StepProcessor(Step step) : step_(std::move(step)) {}
  void process(Ids ids, std::size_t prompt_length, Scores scores) override {
    step_(ids, prompt_length, scores);
  }
  std::unique_ptr<LogitsProcessor> clone() const override {
    return std::make_unique<StepProcessor>(*this);
  }

 private:
  Step step_;
};

// How often each id came, kept up with a growing text.
class IdCounts {
 public:
  void catch_up(Ids ids) {
    LINNET_CHECK(ids.size() >= seen_, "the ids of a processor may only grow");
    for (const TokenId id : ids.subspan(seen_)) {
      LINNET_CHECK(id >= 0);
      const auto index = static_cast<std::size_t>(id);
      if (index >= counts_.size()) counts_.resize(index + 1);
      if (counts_[index]++ == 0) distinct_.push_back(id);
    }
    seen_ = ids.size();
  }
  Ids distinct() const { return distinct_; }
  std::uint32_t count(TokenId id) const { return counts_[static_cast<std::size_t>(id)]; }

 private:
  std::size_t seen_ = 0;
  std::vector<std::uint32_t> counts_;  // by id
  std::vector<TokenId> distinct_;
};

// transformers, SequenceBiasLogitsProcessor. Where an id that is removed gains, it stays removed.
struct SequenceBiases {
  std::vector<SequenceBias> biases;

  void operator()(Ids ids, std::size_t, Scores scores) const {
    for (const SequenceBias& bias : biases) {
      float& score = score_of(scores, bias.ids.back(), "sequence_bias");
      const std::size_t before = bias.ids.size() - 1;
      if (before > ids.size()) continue;
      if (std::equal(bias.ids.begin(), bias.ids.end() - 1, ids.end() - before)) score += bias.bias;
    }
  }
};

// Keskar et al., "CTRL", as transformers has it: negative scores are multiplied.
struct RepetitionPenalty {
  float penalty;
  IdCounts counts = {};

  void operator()(Ids ids, std::size_t, Scores scores) {
    counts.catch_up(ids);
    for (const TokenId id : counts.distinct()) {
      float& score = score_of(scores, id, "a prompt id");
      score = score < 0 ? score * penalty : score / penalty;
    }
  }
};

// OpenAI's presence and frequency penalties: of the answer alone.
struct FrequencyPenalty {
  float presence;
  float frequency;
  IdCounts counts = {};

  void operator()(Ids ids, std::size_t prompt_length, Scores scores) {
    counts.catch_up(ids.subspan(std::min(prompt_length, ids.size())));
    for (const TokenId id : counts.distinct()) {
      const float times = static_cast<float>(counts.count(id));
      score_of(scores, id, "an answer's id") -= times * frequency + presence;
    }
  }
};

// Bans ids while the text, or the answer, is shorter than `least`. Ids that the row does not have
// are no choice anyway: files name stop ids outside of the vocabulary.
struct BanUntil {
  std::vector<TokenId> banned;
  std::size_t least;
  bool answer_only;

  void operator()(Ids ids, std::size_t prompt_length, Scores scores) const {
    if (ids.size() - (answer_only ? prompt_length : 0) >= least) return;
    for (const TokenId id : banned) {
      if (static_cast<std::size_t>(id) < scores.size())
        scores[static_cast<std::size_t>(id)] = kRemoved;
    }
  }
};

// transformers, ExponentialDecayLengthPenalty: the longer the answer, the likelier its end.
struct Decay {
  LengthDecay decay;
  std::vector<TokenId> stop_ids;

  void operator()(Ids ids, std::size_t prompt_length, Scores scores) const {
    const std::size_t start = prompt_length + static_cast<std::size_t>(decay.start);
    if (ids.size() <= start) return;
    const double gain = whole_power(decay.factor, ids.size() - start) - 1;
    for (const TokenId id : stop_ids) {
      if (static_cast<std::size_t>(id) >= scores.size()) continue;
      float& score = scores[static_cast<std::size_t>(id)];
      if (score != kRemoved) score = static_cast<float>(score + std::fabs(score) * gain);
    }
  }
};

void force(Ids forced, Scores scores, std::string_view field) {
  for (const TokenId id : forced) score_of(scores, id, field);
  std::fill(scores.begin(), scores.end(), kRemoved);
  for (const TokenId id : forced) scores[static_cast<std::size_t>(id)] = 0;
}

struct ForcedBos {
  TokenId id;
  void operator()(Ids ids, std::size_t, Scores scores) const {
    if (ids.size() == 1) force({&id, 1}, scores, "forced_bos_token_id");
  }
};

struct ForcedEos {
  std::vector<TokenId> forced;
  std::int64_t max_length;
  std::int64_t max_new_tokens;
  void operator()(Ids ids, std::size_t prompt_length, Scores scores) const {
    const std::int64_t most =
        max_length >= 0 ? max_length : static_cast<std::int64_t>(prompt_length) + max_new_tokens;
    if (static_cast<std::int64_t>(ids.size()) + 1 == most) {
      force(forced, scores, "forced_eos_token_id");
    }
  }
};

struct ForcedTokens {
  std::vector<ForcedToken> tokens;
  void operator()(Ids ids, std::size_t, Scores scores) const {
    for (const ForcedToken& token : tokens) {
      if (token.index == static_cast<std::int64_t>(ids.size())) {
        force({&token.id, 1}, scores, "forced_token_ids");
      }
    }
  }
};

void add_scoring(const GenerationConfig& config, ProcessorList& list) {
  const auto add = [&](auto step) {
    list.push_back(std::make_unique<StepProcessor<decltype(step)>>(std::move(step)));
  };
  if (!config.sequence_bias.empty()) add(SequenceBiases{config.sequence_bias});
  if (config.repetition_penalty != 1) add(RepetitionPenalty{config.repetition_penalty});
  if (config.presence_penalty != 0 || config.frequency_penalty != 0) {
    add(FrequencyPenalty{config.presence_penalty, config.frequency_penalty});
  }
  if (config.dry_multiplier > 0) list.push_back(dry_processor(config));
  if (config.no_repeat_ngram_size > 0) {
    list.push_back(no_repeat_ngram_processor(config.no_repeat_ngram_size));
  }
}

void add_banning_and_forcing(const GenerationConfig& config, ProcessorList& list) {
  const auto add = [&](auto step) {
    list.push_back(std::make_unique<StepProcessor<decltype(step)>>(std::move(step)));
  };
  const auto size = [](std::int64_t number) { return static_cast<std::size_t>(number); };
  if (config.min_length > 0) add(BanUntil{config.stop_ids, size(config.min_length), false});
  if (config.min_new_tokens > 0) add(BanUntil{config.stop_ids, size(config.min_new_tokens), true});
  if (config.length_decay) add(Decay{*config.length_decay, config.stop_ids});
  if (!config.suppress_tokens.empty()) add(BanUntil{config.suppress_tokens, SIZE_MAX, false});
  if (!config.begin_suppress_tokens.empty()) {
    add(BanUntil{config.begin_suppress_tokens, 1, true});
  }
  if (config.forced_bos) add(ForcedBos{*config.forced_bos});
  if (!config.forced_eos.empty()) {
    add(ForcedEos{config.forced_eos, config.max_length, config.max_new_tokens});
  }
  if (!config.forced_tokens.empty()) add(ForcedTokens{config.forced_tokens});
}

}  // namespace

float& score_of(std::span<float> scores, TokenId id, std::string_view field) {
  if (static_cast<std::size_t>(id) < scores.size()) return scores[static_cast<std::size_t>(id)];
  fail(ErrorCode::invalid_argument,
       fmt::format("{}: {} is outside of the vocabulary of {}", field, id, scores.size()));
}

ProcessorList history_processors(const GenerationConfig& config) {
  ProcessorList list;
  add_scoring(config, list);
  add_banning_and_forcing(config, list);
  return list;
}

std::unique_ptr<LogitsProcessor> callback_processor(LogitsCallback callback) {
  return std::make_unique<StepProcessor<LogitsCallback>>(std::move(callback));
}

}  // namespace linnet
