#include "engine/batch_engine.h"

#include <fmt/core.h>

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "engine/prefix_file.h"

namespace linnet {
namespace {

// One block beyond: a copy of a last block that others share, while both are there.
std::int64_t pool_blocks(const Model& model, const EngineOptions& options) {
  const std::int64_t positions =
      options.cache_positions > 0 ? options.cache_positions : model.context();
  return KvCache::blocks_for(positions) + 1;
}

std::int64_t request_of(const PlannedRows& planned) { return planned.sequence->order.request; }

bool is_one_request(std::span<const PlannedRows> plan) {
  return std::all_of(plan.begin(), plan.end(), [&](const PlannedRows& each) {
    return request_of(each) == request_of(plan.front());
  });
}

}  // namespace

BatchEngine::BatchEngine(std::shared_ptr<const Model> model,
                         std::shared_ptr<const Tokenizer> tokenizer, const EngineOptions& options)
    : model_(std::move(model)),
      tokenizer_(std::move(tokenizer)),
      options_(options),
      parts_{model_.get(), tokenizer_.get(),
             BlockPool::make(model_->lane().block_bytes(), pool_blocks(*model_, options)),
             std::min(model_->context(),
                      (pool_blocks(*model_, options) - 1) * KvCache::kBlockPositions),
             options.speculate ? &speculation_ : nullptr},
      speculation_(price_, options.draft_model, options.always_guess),
      scheduler_(options.scheduler, parts_.pool, prefixes_, price_),
      runner_(*model_) {
  log_info(
      fmt::format("the cache has room for {} positions of all sequences together: {:.2f} GB "
                  "once all of it is in use",
                  parts_.pool->capacity() * KvCache::kBlockPositions,
                  static_cast<double>(parts_.pool->capacity()) *
                      static_cast<double>(parts_.pool->block_bytes()) / 1e9));
}

BatchEngine::~BatchEngine() {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  take_incoming();
  const auto error = std::make_exception_ptr(Error(ErrorCode::cancelled, "the engine was stopped"));
  for (const auto& run : runs_) run.second->fail_with(scheduler_, error);
}

std::shared_ptr<Ticket> BatchEngine::submit(Request request) {
  auto ticket = std::make_shared<Ticket>();
  std::int64_t number;
  {
    const std::lock_guard lock(mutex_);
    number = next_number_++;
  }
  auto run = RequestRun::make(std::move(request), number, ticket, parts_);
  if (run->most_sequences() > options_.scheduler.most_running) {
    fail(ErrorCode::invalid_argument,
         fmt::format("{} answers at once: at most {} sequences run at a time",
                     run->most_sequences(), options_.scheduler.most_running));
  }
  if (run->most_blocks() > parts_.pool->capacity()) {
    fail(ErrorCode::invalid_argument,
         fmt::format("the request may need {} blocks of the cache ({} positions each), which has "
                     "{}: ask for fewer tokens or answers, or give the cache more room",
                     run->most_blocks(), KvCache::kBlockPositions, parts_.pool->capacity()));
  }
  {
    const std::lock_guard lock(mutex_);
    if (is_stopped_) fail(ErrorCode::cancelled, "the engine was stopped");
    const std::int64_t waiting = stats_.waiting + static_cast<std::int64_t>(incoming_.size());
    if (waiting >= options_.most_waiting) {
      fail(ErrorCode::overloaded,
           fmt::format("{} requests are waiting already: try again later", waiting));
    }
    incoming_.emplace(number, std::move(run));
  }
  changed_.notify_all();
  return ticket;
}

void BatchEngine::start() {
  LINNET_CHECK(!thread_.joinable());
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error&) {
    fail(ErrorCode::out_of_memory, "no room for the engine's thread");
  }
}

void BatchEngine::work() {
  while (true) {
    bool worked = true;
    try {
      worked = step();
    } catch (const std::bad_alloc&) {
      // Of a pass's own bookkeeping: nobody is to blame, and memory may come back.
      std::this_thread::yield();
    }
    std::unique_lock lock(mutex_);
    if (is_stopped_) return;
    if (!worked) changed_.wait(lock, [&] { return is_stopped_ || !incoming_.empty(); });
  }
}

void BatchEngine::take_incoming() {
  Runs incoming;
  {
    const std::lock_guard lock(mutex_);
    incoming.swap(incoming_);
  }
  while (!incoming.empty()) {
    const auto added = runs_.insert(incoming.extract(incoming.begin())).position;
    try {
      added->second->begin(scheduler_);
    } catch (...) {
      end_with(added->first, std::current_exception());
    }
  }
}

// One that was cancelled in mid-pass has the answers that there are.
void BatchEngine::end_with(std::int64_t number, const std::exception_ptr& error) {
  const auto at = runs_.find(number);
  if (at == runs_.end()) return;
  try {
    std::rethrow_exception(error);
  } catch (const Error& known) {
    if (known.code() == ErrorCode::cancelled) {
      at->second->end(scheduler_, FinishReason::cancelled);
    } else {
      at->second->fail_with(scheduler_, error);
    }
  } catch (...) {
    at->second->fail_with(scheduler_, error);
  }
  runs_.erase(at);
}

void BatchEngine::end_early() {
  const auto now = Clock::now();
  for (auto at = runs_.begin(); at != runs_.end();) {
    RequestRun& run = *at->second;
    const bool is_cancelled = run.is_cancelled();
    if (!is_cancelled && !run.is_late(now)) {
      ++at;
      continue;
    }
    run.end(scheduler_, is_cancelled ? FinishReason::cancelled : FinishReason::deadline);
    at = runs_.erase(at);
  }
}

bool BatchEngine::step() {
  const auto start = Clock::now();
  take_incoming();
  end_early();
  const std::size_t before = runs_.size();
  const bool had_rows = run_pass();
  LINNET_CHECK(had_rows || runs_.empty() || runs_.size() < before, "requests that never run");
  note_stats();
  const std::lock_guard lock(mutex_);
  stats_.ended += static_cast<std::int64_t>(before - runs_.size());
  stats_.other_seconds += seconds_since(start);
  return !runs_.empty() || !incoming_.empty();
}

bool BatchEngine::run_pass() {
  std::vector<PlannedRows> plan;
  try {
    plan = scheduler_.plan();
  } catch (...) {
    // No memory for another block: the newest request makes room.
    if (runs_.empty()) throw;
    end_with(runs_.rbegin()->first, std::current_exception());
    return true;
  }
  std::vector<SequenceLogits> logits;
  try {
    if (!plan.empty()) logits = compute(plan);
  } catch (...) {
    if (is_one_request(plan)) {
      end_with(request_of(plan.front()), std::current_exception());
    } else {
      compute_apart(plan);
    }
    return true;
  }
  try {
    hand_out(logits);
    settle(plan);
  } catch (...) {
    // No memory for the bookkeeping: what these requests have is not certain any more.
    for (const PlannedRows& each : plan) end_with(request_of(each), std::current_exception());
  }
  return !plan.empty();
}

std::vector<SequenceLogits> BatchEngine::compute(std::span<const PlannedRows> plan) {
  const std::atomic<bool>* cancel = nullptr;
  std::int64_t rows = 0;
  for (const PlannedRows& each : plan) rows += each.rows();
  // With others in the pass they would have to be computed again: it then ends before the next.
  if (is_one_request(plan)) cancel = &runs_.at(request_of(plan.front()))->cancel_flag();
  for (const PlannedRows& each : plan) runs_.at(request_of(each))->note_start();
  const auto start = Clock::now();
  auto logits = runner_.run(plan, cancel);
  const double seconds = seconds_since(start);
  price_.record(rows, seconds);
  const std::lock_guard lock(mutex_);
  ++stats_.passes;
  stats_.rows += rows;
  stats_.model_seconds += seconds;
  stats_.other_seconds -= seconds;
  return logits;
}

// A pass failed: each request by itself, so that only the one that cannot be computed ends.
void BatchEngine::compute_apart(std::span<const PlannedRows> plan) {
  std::map<std::int64_t, std::vector<PlannedRows>> parts;
  for (const PlannedRows& each : plan) parts[request_of(each)].push_back(each);
  for (const auto& part : parts) {
    if (!runs_.contains(part.first)) continue;
    try {
      hand_out(compute(part.second));
      settle(part.second);
    } catch (...) {
      end_with(part.first, std::current_exception());
    }
  }
}

void BatchEngine::hand_out(std::span<const SequenceLogits> logits) {
  const auto take = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const SequenceLogits& each = logits[static_cast<std::size_t>(i)];
      runs_.at(request_of(each.planned))->take_logits(each);
    }
  };
  const auto count = static_cast<std::int64_t>(logits.size());
  count == 1 ? take(0, 1) : model_->pool().parallel_for(count, 1, take);
}

void BatchEngine::settle(std::span<const PlannedRows> plan) {
  speculation_.begin_pass(scheduler_.running());
  for (const PlannedRows& each : plan) {
    scheduler_.note_computed(*each.sequence, each.ids);
    runs_.at(request_of(each))->note_progress(*each.sequence);
  }
  for (auto at = runs_.begin(); at != runs_.end();) {
    at = at->second->settle(scheduler_) ? runs_.erase(at) : std::next(at);
  }
}

void BatchEngine::note_stats() {
  const std::lock_guard lock(mutex_);
  stats_.waiting = scheduler_.waiting();
  stats_.running = scheduler_.running();
  stats_.preemptions = scheduler_.preemptions();
  stats_.blocks = parts_.pool->capacity();
  stats_.blocks_used = parts_.pool->used();
  stats_.blocks_cached = prefixes_.blocks();
  stats_.prefixes = prefixes_.stats();
}

std::int64_t BatchEngine::save_prefixes(const std::filesystem::path& path) const {
  return linnet::save_prefixes(prefixes_, model_->lane(), path);
}

std::int64_t BatchEngine::restore_prefixes(const std::filesystem::path& path) {
  prefixes_.clear();
  return linnet::restore_prefixes(prefixes_, *parts_.pool, model_->lane(), path);
}

EngineStats BatchEngine::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

}  // namespace linnet
