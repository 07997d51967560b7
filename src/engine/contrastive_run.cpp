#include "engine/contrastive_run.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "engine/logits.h"
#include "tensor/functions.h"

namespace linnet {

ContrastiveRun::ContrastiveRun(Request request, std::int64_t number, std::shared_ptr<Ticket> ticket,
                               const RunParts& parts)
    : RequestRun(std::move(request), number, std::move(ticket), parts),
      search_(*this->request().contrastive, parts.model->program().hidden),
      processors_(this->request().config),
      answer_(this->request(), 0, seed(), parts.tokenizer, most_new()),
      width_(static_cast<std::size_t>(parts.model->program().hidden)),
      vocab_(static_cast<std::size_t>(parts.model->program().vocab)) {
  if (this->request().answers != 1) {
    fail(ErrorCode::invalid_argument, "contrastive search gives one answer");
  }
}

std::int64_t ContrastiveRun::most_blocks() const {
  const auto prompt = static_cast<std::int64_t>(request().prompt.size());
  return KvCache::blocks_for(prompt + most_new()) + most_sequences();
}

void ContrastiveRun::begin(Scheduler& scheduler) {
  if (most_new() == 0) return;
  candidates_.push_back(new_sequence(0));
  Sequence& prompt = *candidates_.front();
  prompt.slots = most_sequences();
  prompt.first_wanted = 0;
  prompt.wants_hidden = true;
  logits_.resize(vocab_), hidden_.resize(width_);
  scheduler.add(candidates_.front());
}

// Of the prompt; candidates give theirs one by one, in advance().
void ContrastiveRun::take_hidden(std::int64_t first, std::span<const float> hidden) {
  const auto prompt = static_cast<std::int64_t>(request().prompt.size());
  if (seen_ >= prompt) return;
  const auto rows = static_cast<std::int64_t>(hidden.size() / width_);
  const std::int64_t known = std::clamp<std::int64_t>(seen_ - first, 0, rows);  // computed again
  search_.see(hidden.subspan(static_cast<std::size_t>(known) * width_));
  seen_ += rows - known;
}

void ContrastiveRun::advance(Sequence& sequence, std::int64_t, std::span<const float> logits,
                             std::span<const float> hidden) {
  const auto at = std::find_if(candidates_.begin(), candidates_.end(),
                               [&](const auto& each) { return each.get() == &sequence; });
  const auto index = static_cast<std::size_t>(at - candidates_.begin());
  std::copy(logits.begin(), logits.end(),
            logits_.begin() + static_cast<std::ptrdiff_t>(index * vocab_));
  const auto last = hidden.last(width_);
  std::copy(last.begin(), last.end(),
            hidden_.begin() + static_cast<std::ptrdiff_t>(index * width_));
  sequence.waits = true;
}

void ContrastiveRun::propose(Scheduler& scheduler, Sequence& parent,
                             std::span<const float> logits) {
  std::vector<float> scores(logits.begin(), logits.end());
  check_logits(scores);
  processors_.process(parent.ids, request().prompt.size(), scores);
  softmax(scores.data(), std::ssize(scores));
  std::vector<std::shared_ptr<Sequence>> next;
  for (const TokenId id : search_.candidates(scores)) {
    auto sequence = std::make_shared<Sequence>(parent);
    sequence->order.index = ++generation_;
    sequence->slots = 1;
    sequence->waits = false;
    sequence->ids.push_back(id);
    scheduler.add_fork(parent, sequence);
    next.push_back(std::move(sequence));
  }
  for (const auto& each : candidates_) scheduler.remove(*each, false);
  candidates_ = std::move(next);
  logits_.resize(candidates_.size() * vocab_);
  hidden_.resize(candidates_.size() * width_);
}

bool ContrastiveRun::publish(Scheduler& scheduler) {
  if (candidates_.empty()) return true;
  if (std::any_of(candidates_.begin(), candidates_.end(),
                  [](const auto& each) { return !each->waits; })) {
    return false;
  }
  std::size_t chosen = 0;
  if (generation_ > 0) {
    const ContrastiveChoice choice = search_.choose(hidden_);
    chosen = choice.index;
    answer_.take_chosen(choice.id);
    answer_.result().choice_scores.push_back(choice.score);
    for (const TokenEvent& event : answer_.take_events()) {
      if (request().on_token) request().on_token(event);
    }
    if (answer_.has_ended()) return true;
  }
  const std::vector<float> logits(
      logits_.begin() + static_cast<std::ptrdiff_t>(chosen * vocab_),
      logits_.begin() + static_cast<std::ptrdiff_t>((chosen + 1) * vocab_));
  const std::shared_ptr<Sequence> parent = candidates_[chosen];
  propose(scheduler, *parent, logits);
  return false;
}

void ContrastiveRun::end_all(Scheduler&, FinishReason reason) { answer_.end(reason); }

void ContrastiveRun::remove_all(Scheduler& scheduler) {
  for (const auto& each : candidates_) scheduler.remove(*each, false);
  candidates_.clear();
}

std::vector<GenerationResult> ContrastiveRun::results() {
  std::vector<GenerationResult> results;
  results.push_back(std::move(answer_.result()));
  return results;
}

}  // namespace linnet
