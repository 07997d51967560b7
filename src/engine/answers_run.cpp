#include "engine/answers_run.h"

#include <algorithm>
#include <utility>

namespace linnet {

AnswersRun::AnswersRun(Request request, std::int64_t number, std::shared_ptr<Ticket> ticket,
                       const RunParts& parts)
    : RequestRun(std::move(request), number, std::move(ticket), parts) {
  for (std::int64_t i = 0; i < this->request().answers; ++i) {
    auto answer = std::make_unique<GrowingAnswer>(
        this->request(), i, seed() + static_cast<std::uint64_t>(i), parts.tokenizer, most_new());
    branches_.push_back({std::move(answer), nullptr});
  }
}

std::int64_t AnswersRun::most_blocks() const {
  // Each alone: they wait for each other when there is not room for all.
  const auto prompt = static_cast<std::int64_t>(request().prompt.size());
  return KvCache::blocks_for(prompt + most_new()) + 1;
}

void AnswersRun::begin(Scheduler& scheduler) {
  if (most_new() == 0) return;
  Branch& first = branches_.front();
  first.sequence = new_sequence(0);
  first.sequence->slots = request().answers;
  scheduler.add(first.sequence);
}

void AnswersRun::append_new_ids(const Branch& branch, Sequence& sequence) const {
  const std::span<const TokenId> answer = branch.answer->ids();
  const std::size_t known = sequence.ids.size() - request().prompt.size();
  sequence.ids.insert(sequence.ids.end(), answer.begin() + static_cast<std::ptrdiff_t>(known),
                      answer.end());
}

void AnswersRun::advance(Sequence& sequence, std::int64_t drafts, std::span<const float> logits,
                         std::span<const float>) {
  Branch& branch = branches_[static_cast<std::size_t>(sequence.order.index)];
  const auto guesses = std::span(sequence.drafts).first(static_cast<std::size_t>(drafts));
  const std::size_t right = branch.answer->advance(logits, guesses, must_end_thought());
  // The others begin with the same logits.
  for (Branch& other : branches_) {
    if (&branch == &branches_.front() && !other.sequence && other.answer->ids().empty() &&
        !other.answer->has_ended()) {
      other.answer->advance(logits.first(logits.size() / (1 + guesses.size())), {},
                            must_end_thought());
    }
  }
  sequence.cache.truncate(static_cast<std::int64_t>(sequence.ids.size() + right));
  if (branch.guesser) branch.guesser->note(drafts, static_cast<std::int64_t>(right));
  sequence.drafts.clear();
  append_new_ids(branch, sequence);
}

void AnswersRun::fork(Scheduler& scheduler, std::size_t index) {
  Branch& branch = branches_[index];
  Sequence& first = *branches_.front().sequence;
  branch.sequence = std::make_shared<Sequence>(first);
  Sequence& sequence = *branch.sequence;
  sequence.order.index = static_cast<std::int64_t>(index);
  sequence.slots = 1;
  sequence.ids = request().prompt;
  sequence.cache.truncate(std::min(sequence.computed(), sequence.prompt));
  append_new_ids(branch, sequence);
  scheduler.add_fork(first, branch.sequence);
}

// What the next pass may verify beside the next id.
void AnswersRun::guess(Branch& branch) {
  Speculation* speculation = parts().speculation;
  if (speculation == nullptr || !request().speculate) return;
  if (!branch.guesser) branch.guesser = speculation->guesser(request().cache_salt.empty());
  Sequence& sequence = *branch.sequence;
  const auto room = most_new() - std::ssize(branch.answer->ids()) - 1;
  sequence.drafts = branch.guesser->next(sequence.ids, room);
}

void AnswersRun::tell(Branch& branch) {
  std::vector<TokenEvent> events = branch.answer->take_events();
  if (!request().on_token) return;
  for (std::size_t i = 0; i < events.size(); ++i) {
    // Cancelled by the one who was told the last one: nothing comes after it.
    if (i > 0 && is_cancelled()) return branch.answer->take_back(events.size() - i);
    request().on_token(events[i]);
  }
}

bool AnswersRun::publish(Scheduler& scheduler) {
  bool all_ended = true;
  Sequence* first = branches_.front().sequence.get();
  for (std::size_t i = 0; i < branches_.size(); ++i) {
    Branch& branch = branches_[i];
    GrowingAnswer& answer = *branch.answer;
    if (!branch.sequence && !answer.has_ended() && !answer.ids().empty()) fork(scheduler, i);
    all_ended = all_ended && answer.has_ended();
  }
  if (first != nullptr) first->slots = 1;
  for (Branch& branch : branches_) {
    if (!branch.sequence) continue;
    if (branch.answer->has_ended()) {
      if (branch.guesser) branch.guesser->keep(branch.answer->ids());
      scheduler.remove(*branch.sequence, true);
      branch.sequence.reset();
    } else if (branch.sequence->pending() <= 1 && branch.sequence->drafts.empty()) {
      guess(branch);
    }
  }
  for (Branch& branch : branches_) tell(branch);
  return all_ended;
}

void AnswersRun::end_all(Scheduler&, FinishReason reason) {
  for (Branch& branch : branches_) branch.answer->end(reason);
}

void AnswersRun::remove_all(Scheduler& scheduler) {
  for (Branch& branch : branches_) {
    if (branch.sequence) scheduler.remove(*branch.sequence, true);
    branch.sequence.reset();
  }
}

std::vector<GenerationResult> AnswersRun::results() {
  std::vector<GenerationResult> results;
  for (Branch& branch : branches_) results.push_back(std::move(branch.answer->result()));
  return results;
}

}  // namespace linnet
