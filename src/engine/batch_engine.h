// Many requests at once on one model: each pass computes rows of all that run. Every request gets
// the same bits as alone, whatever else runs, and exactly one end: its answers or its error.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "engine/prefix_cache.h"
#include "engine/request_run.h"
#include "engine/runner.h"
#include "engine/scheduler.h"
#include "engine/ticket.h"

namespace linnet {

struct EngineOptions {
  SchedulerOptions scheduler;
  std::int64_t most_waiting = 1024;  // requests; one more is Error{overloaded}
  std::int64_t cache_positions = 0;  // of all sequences together; 0: one sequence's context
  bool speculate = true;             // see Request::speculate
  bool always_guess = false;         // also where guesses cost more than they bring: for tests
  std::shared_ptr<DraftModel> draft_model;  // guesses where nothing that was said before helps
};

struct EngineStats {
  std::int64_t waiting = 0, running = 0;  // sequences
  std::int64_t ended = 0;                 // requests, by any end
  std::int64_t passes = 0, rows = 0;      // computed
  std::int64_t preemptions = 0;
  std::int64_t blocks = 0, blocks_used = 0, blocks_cached = 0;
  PrefixStats prefixes;
  double model_seconds = 0, other_seconds = 0;  // of the passes, and of all around them
};

class BatchEngine {
 public:
  // Without a tokenizer (null) ids come, but no text, and stop strings are refused.
  BatchEngine(std::shared_ptr<const Model> model, std::shared_ptr<const Tokenizer> tokenizer,
              const EngineOptions& options = {});
  // What has not ended then ends in Error{cancelled}.
  ~BatchEngine();
  BatchEngine(const BatchEngine&) = delete;
  BatchEngine& operator=(const BatchEngine&) = delete;

  // Thread-safe. Errors: invalid_argument (prompt, config, what can never fit, with the numbers),
  // overloaded when too many wait already.
  std::shared_ptr<Ticket> submit(Request request);

  // From then on a thread of the engine's own does the work. Else step() must be called.
  void start();
  // One pass; false when there was nothing to do. Not beside a started engine.
  bool step();

  EngineStats stats() const;
  const Model& model() const { return *model_; }
  const Tokenizer* tokenizer() const { return tokenizer_.get(); }
  std::int64_t context() const { return parts_.context; }
  // Forgets all prefixes; writes them to a file; reads them from one (see prefix_file.h, also for
  // what is returned). Not beside a started engine.
  void clear_prefixes() { prefixes_.clear(); }
  std::int64_t save_prefixes(const std::filesystem::path& path) const;
  std::int64_t restore_prefixes(const std::filesystem::path& path);

 private:
  using Runs = std::map<std::int64_t, std::unique_ptr<RequestRun>>;

  void work();
  void take_incoming();
  void end_early();
  void end_with(std::int64_t number, const std::exception_ptr& error);
  bool run_pass();
  std::vector<SequenceLogits> compute(std::span<const PlannedRows> plan);
  void compute_apart(std::span<const PlannedRows> plan);
  void hand_out(std::span<const SequenceLogits> logits);
  void settle(std::span<const PlannedRows> plan);
  void note_stats();

  std::shared_ptr<const Model> model_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  EngineOptions options_;
  RunParts parts_;
  PassPrice price_;
  Speculation speculation_;
  PrefixCache prefixes_;
  Scheduler scheduler_;
  Runner runner_;
  Runs runs_;

  mutable std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  Runs incoming_;
  std::int64_t next_number_ = 0;
  bool is_stopped_ = false;
  EngineStats stats_;
  std::thread thread_;
};

}  // namespace linnet
