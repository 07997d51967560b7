#include "engine/growing_answer.h"

#include <utility>

#include "engine/log_probabilities.h"
#include "engine/stop_rules.h"

namespace linnet {

GrowingAnswer::GrowingAnswer(const Request& request, std::int64_t index, std::uint64_t seed,
                             const Tokenizer* tokenizer, std::int64_t most_new)
    : request_(request),
      index_(index),
      most_new_(most_new),
      sampler_(request.config, seed, request.prompt.size()),
      output_(tokenizer, request.config.stop_strings, request.keep_special),
      thinking_(request.thinking) {
  sampler_.see(request.prompt);
  result_.seed = seed;
  result_.prompt_tokens = static_cast<std::int64_t>(request.prompt.size());
  if (most_new == 0) end(FinishReason::length);
}

void GrowingAnswer::take(TokenId id, bool is_forced, std::span<const float> logits) {
  const GenerationConfig& config = request_.config;
  if (request_.log_probabilities && is_forced) {
    result_.log_probabilities.push_back({{id, 0}, {}});
  } else if (request_.log_probabilities) {
    result_.log_probabilities.push_back(row_log_probabilities(
        logits, id, static_cast<std::size_t>(request_.top_log_probabilities)));
  }
  sampler_.see({&id, 1});
  thinking_.see(id);
  result_.ids.push_back(id);
  result_.reasoning_tokens = thinking_.tokens();
  const bool is_stop = is_stop_id(config.stop_ids, id);
  std::string text = is_stop ? std::string() : output_.push(id);
  const bool is_full = static_cast<std::int64_t>(result_.ids.size()) == most_new_;
  if (is_stop || is_full || output_.stopped()) {
    text += output_.finish();
    const bool stopped = is_stop || output_.stopped();
    end(stopped ? FinishReason::stop : FinishReason::length);
  }
  result_.text += text;
  events_.push_back(
      {id, std::move(text), thinking_.was_reasoning(), is_forced, thinking_.tokens()});
}

std::size_t GrowingAnswer::advance(std::span<const float> logits, std::span<const TokenId> drafts,
                                   bool end_thought) {
  const std::size_t vocab = logits.size() / (1 + drafts.size());
  std::size_t rows = 0;  // used
  while (!ended_) {
    const std::span<const TokenId> forced = thinking_.forced(end_thought);
    if (!forced.empty()) {
      // They are computed together with what follows.
      for (std::size_t i = 0; i < forced.size() && !ended_; ++i) take(forced[i], true, {});
      break;
    }
    if (rows > drafts.size() || (rows > 0 && result_.ids.back() != drafts[rows - 1])) break;
    const auto row = logits.subspan(rows * vocab, vocab);
    ++rows;
    take(sampler_.choose(row).id, false, row);
  }
  const std::size_t right = rows == 0 ? 0 : rows - 1;
  result_.drafted_tokens += static_cast<std::int64_t>(drafts.size());
  result_.accepted_tokens += static_cast<std::int64_t>(right);
  return right;
}

void GrowingAnswer::end(FinishReason reason) {
  if (ended_) return;
  result_.finish = reason;
  ended_ = true;
}

std::vector<TokenEvent> GrowingAnswer::take_events() {
  told_ = std::exchange(events_, {});
  std::vector<TokenEvent> events;
  events.reserve(told_.size());
  for (const Event& event : told_) {
    events.push_back({event.id, event.text, index_, event.is_reasoning, event.is_forced});
  }
  return events;
}

void GrowingAnswer::take_back(std::size_t count) {
  const std::size_t told = told_.size() - count;
  result_.ids.resize(result_.ids.size() - count);
  if (!result_.log_probabilities.empty()) result_.log_probabilities.resize(result_.ids.size());
  for (std::size_t i = told; i < told_.size(); ++i) {
    result_.text.resize(result_.text.size() - told_[i].text.size());
  }
  if (told > 0) result_.reasoning_tokens = told_[told - 1].reasoning_tokens;
  result_.finish = FinishReason::cancelled;
  ended_ = true;
}

}  // namespace linnet
