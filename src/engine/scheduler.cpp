#include "engine/scheduler.h"

#include <algorithm>
#include <limits>
#include <new>

#include "base/error.h"

namespace linnet {
namespace {

// A sequence that lacks no more rows than this runs like one at its end: in every pass.
constexpr std::int64_t kEndRows = 8;

// Every row of a vocabulary is half a megabyte.
constexpr std::int64_t kWantedRows = 64;

bool is_at_end(const Sequence& sequence) {
  const std::int64_t most = sequence.most_rows > 0 ? sequence.most_rows : kEndRows;
  return sequence.pending() <= std::min(most, kEndRows);
}

auto find_in(const std::vector<std::shared_ptr<Sequence>>& list, const Sequence& sequence) {
  return std::find_if(list.begin(), list.end(),
                      [&](const auto& each) { return each.get() == &sequence; });
}

}  // namespace

Scheduler::Scheduler(const SchedulerOptions& options, std::shared_ptr<BlockPool> pool,
                     PrefixCache& prefixes, const PassPrice& price)
    : options_(options), pool_(std::move(pool)), prefixes_(prefixes), price_(price) {
  LINNET_CHECK(pool_->capacity() > 0);
}

void Scheduler::begin_service(const Sequence& sequence) {
  Service& service = callers_[sequence.caller];
  if (service.sequences++ > 0) return;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const auto& caller : callers_) {
    if (&caller.second != &service) least = std::min(least, caller.second.rows);
  }
  service.rows = callers_.size() == 1 ? 0 : least;
}

void Scheduler::end_service(const std::string& caller) {
  const auto service = callers_.find(caller);
  if (--service->second.sequences == 0) callers_.erase(service);
}

std::int64_t Scheduler::work_of(const Sequence& sequence) const {
  return callers_.at(sequence.caller).rows;
}

void Scheduler::add(std::shared_ptr<Sequence> sequence) {
  waiting_.reserve(waiting_.size() + 1);
  begin_service(*sequence);
  waiting_.push_back(std::move(sequence));
}

void Scheduler::add_fork(Sequence& parent, std::shared_ptr<Sequence> child) {
  waiting_.reserve(waiting_.size() + 1), running_.reserve(running_.size() + 1);
  begin_service(*child);
  if (parent.slots > 1) --parent.slots;
  if (find_in(running_, parent) == running_.end()) return waiting_.push_back(std::move(child));
  const auto place = std::find_if(running_.begin(), running_.end(), [&](const auto& each) {
    return child->order.before(each->order);
  });
  running_.insert(place, std::move(child));
}

void Scheduler::keep_prefix(Sequence& sequence, std::int64_t ids) {
  try {
    // A cache may hold guesses behind the ids, of a pass whose outcome was an error.
    const std::size_t count = std::min(static_cast<std::size_t>(ids), sequence.ids.size());
    prefixes_.keep(sequence.partition, std::span(sequence.ids).first(count), sequence.cache);
  } catch (const std::bad_alloc&) {
    // Then it is computed again when it is wanted again.
  }
}

void Scheduler::remove(Sequence& sequence, bool is_kept) {
  for (Sequences* list : {&waiting_, &running_}) {
    const auto at = find_in(*list, sequence);
    if (at == list->end()) continue;
    if (is_kept) keep_prefix(sequence, sequence.computed());
    sequence.cache.truncate(0);
    end_service(sequence.caller);
    list->erase(at);
    return;
  }
}

std::int64_t Scheduler::free_blocks() const { return pool_->capacity() - pool_->used(); }

// Blocks that running sequences were admitted for and have not taken yet.
std::int64_t Scheduler::promised_blocks() const {
  std::int64_t blocks = 0;
  for (const auto& sequence : running_)
    blocks += sequence->cache.blocks_wanted(sequence->pending());
  return blocks;
}

bool Scheduler::admit(Sequence& sequence) {
  std::int64_t slots = sequence.slots;
  for (const auto& each : running_) slots += each->slots;
  if (slots > options_.most_running && !running_.empty()) return false;
  PrefixCache::Match match;
  if (sequence.first_wanted < 0) {
    // The last id is computed in any case: its logits are wanted.
    match =
        prefixes_.find(sequence.partition, std::span(sequence.ids).first(sequence.ids.size() - 1));
  }
  KvCache& cache = sequence.cache;
  // Held from here on: what was found cannot be evicted to make room for the rest.
  if (match.length > 0) {
    cache.begin_with(match.blocks, match.length, sequence.prompt);
    match.blocks.clear();
  } else {
    cache.declare_length(sequence.prompt);
  }
  // One block more for every sequence that it may become, to begin the answer with.
  const std::int64_t wanted = cache.blocks_wanted(sequence.pending()) + sequence.slots;
  const std::int64_t lacking = wanted + promised_blocks() - free_blocks();
  if (lacking > 0 && lacking > prefixes_.evictable() && !running_.empty()) {
    cache.truncate(0);
    return false;
  }
  if (sequence.preemptions == 0) {
    sequence.cached = match.length;
    prefixes_.count(match.length, sequence.prompt - match.length);
  }
  return true;
}

void Scheduler::admit() {
  std::sort(waiting_.begin(), waiting_.end(), [&](const auto& a, const auto& b) {
    if (a->order.priority != b->order.priority) return a->order.before(b->order);
    // One that was sent back has begun: it comes before new ones.
    if ((a->preemptions > 0) != (b->preemptions > 0)) return a->preemptions > 0;
    const std::int64_t work = work_of(*a), other = work_of(*b);
    return work != other ? work < other : a->order.before(b->order);
  });
  std::size_t admitted = 0;
  while (admitted < waiting_.size() && admit(*waiting_[admitted])) {
    const auto& sequence = waiting_[admitted++];
    const auto place = std::find_if(running_.begin(), running_.end(), [&](const auto& each) {
      return sequence->order.before(each->order);
    });
    running_.insert(place, sequence);
  }
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(admitted));
}

void Scheduler::send_back(Sequence& sequence) {
  waiting_.reserve(waiting_.size() + 1);  // nothing may fail below
  const auto at = find_in(running_, sequence);
  auto held = *at;
  running_.erase(at);
  // What nobody needs more urgently will be found there again.
  keep_prefix(sequence, sequence.computed());
  sequence.cache.truncate(0);
  sequence.drafts.clear();
  sequence.kept = 0;
  ++sequence.preemptions;
  ++preemptions_;
  waiting_.push_back(std::move(held));
}

// Takes blocks for rows of a running sequence, from sequences behind it if need be; or sends the
// sequence itself back. False when it cannot be computed in this pass.
bool Scheduler::reserve(Sequence& sequence, std::int64_t rows) {
  while (true) {
    const std::int64_t lacking = sequence.cache.blocks_wanted(rows) - free_blocks();
    if (lacking <= 0 || prefixes_.evict(lacking) >= lacking) break;
    Sequence& last = *running_.back();
    if (&last == &sequence) {
      LINNET_CHECK(running_.size() > 1, "a sequence that does not fit alone");
      send_back(sequence);
      return false;
    }
    send_back(last);
  }
  while (true) {
    try {
      sequence.cache.reserve(rows);
      return true;
    } catch (const Error& error) {
      // The pool has blocks left and the machine no memory for them: those of old prefixes will do.
      if (error.code() != ErrorCode::out_of_memory || prefixes_.evict(1) == 0) throw;
    }
  }
}

void Scheduler::plan_ends(std::vector<PlannedRows>& plan) {
  for (std::size_t i = 0; i < running_.size(); ++i) {
    const auto held = running_[i];
    Sequence& sequence = *held;
    if (sequence.waits || !is_at_end(sequence)) continue;
    auto drafts = static_cast<std::int64_t>(sequence.drafts.size());
    // Guesses are not worth sending others back for.
    if (sequence.cache.blocks_wanted(sequence.pending() + drafts) > free_blocks()) drafts = 0;
    if (!reserve(sequence, sequence.pending() + drafts)) continue;
    plan.push_back({held, sequence.pending(), drafts});
  }
}

std::int64_t Scheduler::prompt_budget(const std::vector<PlannedRows>& plan) const {
  std::int64_t rows = 0;
  for (const PlannedRows& each : plan) rows += each.rows();
  if (rows == 0) return options_.prompt_rows;
  const std::int64_t most = price_.most_rows(options_.longest_gap * price_.seconds(rows)) - rows;
  // Prices are known for what was tried: so little by little, and always something.
  return std::clamp(
      most, std::int64_t{1},
      std::min(options_.prompt_rows, std::max(last_prompt_rows_ * 3 / 2, std::int64_t{8})));
}

void Scheduler::plan_prompts(std::vector<PlannedRows>& plan) {
  Sequences prompts;
  for (const auto& sequence : running_) {
    if (!sequence->waits && !is_at_end(*sequence)) prompts.push_back(sequence);
  }
  if (prompts.empty()) return;
  // In turns: the first in order, so that everyone ends; and whoever has had the least, so that a
  // short prompt need not wait for the end of a long one.
  is_oldest_first_ = !is_oldest_first_;
  if (!is_oldest_first_) {
    std::stable_sort(prompts.begin(), prompts.end(), [&](const auto& a, const auto& b) {
      if (a->order.priority != b->order.priority) return a->order.priority > b->order.priority;
      const std::int64_t work = work_of(*a), other = work_of(*b);
      return work != other ? work < other : a->work < b->work;
    });
  }
  const std::size_t ends = plan.size();
  const std::int64_t budget = prompt_budget(plan);
  std::int64_t left = budget;
  for (const auto& sequence : prompts) {
    if (left == 0) break;
    // It may have been sent back by one before it.
    if (find_in(running_, *sequence) == running_.end()) continue;
    std::int64_t rows = std::min(sequence->pending(), left);
    if (sequence->most_rows > 0) rows = std::min(rows, sequence->most_rows);
    if (sequence->first_wanted >= 0) rows = std::min(rows, kWantedRows);
    if (!reserve(*sequence, rows)) continue;
    plan.push_back({sequence, rows, 0});
    left -= rows;
  }
  last_prompt_rows_ = ends > 0 ? budget - left : 0;  // without company anything goes
}

std::vector<PlannedRows> Scheduler::plan() {
  std::vector<PlannedRows> plan;
  admit();
  plan_ends(plan);
  plan_prompts(plan);
  // Sent back for a later one of the plan.
  std::erase_if(plan, [&](const PlannedRows& each) {
    return find_in(running_, *each.sequence) == running_.end();
  });
  return plan;
}

void Scheduler::note_computed(Sequence& sequence, std::int64_t rows) {
  sequence.work += rows;
  callers_.at(sequence.caller).rows += rows;
  const std::int64_t full = sequence.computed() / KvCache::kBlockPositions;
  if (full <= sequence.kept) return;
  sequence.kept = full;
  keep_prefix(sequence, full * KvCache::kBlockPositions);
}

}  // namespace linnet
