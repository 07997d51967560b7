// Which rows of which sequences the next pass computes. Sequences wait, are admitted when there are
// blocks for their prompt, and run: those that are at their end (one row each, or a few with
// drafts) in every pass, and beside them as many rows of prompts as do not hold the others up.
// When blocks run out the last of the running goes back to wait and is computed again later; since
// every sequence fits alone and the first is never sent back, all of them end.
// Pure bookkeeping; not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/pass_price.h"
#include "engine/sequence.h"

namespace linnet {

struct SchedulerOptions {
  std::int64_t most_running = 64;  // sequences
  std::int64_t prompt_rows = 512;  // of prompts in a pass in which nobody else waits
  double longest_gap = 2.25;       // a pass with prompts may take so many times one without
};

class Scheduler {
 public:
  Scheduler(const SchedulerOptions& options, std::shared_ptr<BlockPool> pool, PrefixCache& prefixes,
            const PassPrice& price);

  // A new sequence waits. It must fit into the pool with all it may become.
  void add(std::shared_ptr<Sequence> sequence);
  // One that shares what another one has computed; it takes one of its slots.
  void add_fork(Sequence& parent, std::shared_ptr<Sequence> child);
  // Ends a sequence: its blocks are free, but for those that the prefix cache keeps.
  void remove(Sequence& sequence, bool is_kept);

  // The rows of the next pass, their blocks reserved; empty when there is nothing to compute.
  std::vector<PlannedRows> plan();
  // After a pass: what it computed counts, and full blocks go to the prefix cache.
  void note_computed(Sequence& sequence, std::int64_t rows);

  std::int64_t waiting() const { return static_cast<std::int64_t>(waiting_.size()); }
  std::int64_t running() const { return static_cast<std::int64_t>(running_.size()); }
  std::int64_t preemptions() const { return preemptions_; }  // so far

 private:
  using Sequences = std::vector<std::shared_ptr<Sequence>>;

  void admit();
  bool admit(Sequence& sequence);
  std::int64_t free_blocks() const;
  std::int64_t promised_blocks() const;
  bool reserve(Sequence& sequence, std::int64_t rows);
  void send_back(Sequence& sequence);
  void keep_prefix(Sequence& sequence, std::int64_t ids);
  void plan_ends(std::vector<PlannedRows>& plan);
  void plan_prompts(std::vector<PlannedRows>& plan);
  std::int64_t prompt_budget(const std::vector<PlannedRows>& plan) const;
  std::int64_t work_of(const Sequence& sequence) const;
  void begin_service(const Sequence& sequence);
  void end_service(const std::string& caller);

  SchedulerOptions options_;
  std::shared_ptr<BlockPool> pool_;
  PrefixCache& prefixes_;
  const PassPrice& price_;
  Sequences waiting_, running_;  // running: in their order
  // Rows computed for each caller that has sequences here; a new one begins with the least of them.
  struct Service {
    std::int64_t rows = 0;
    std::int64_t sequences = 0;
  };
  std::map<std::string, Service> callers_;
  std::int64_t last_prompt_rows_ = 0;
  bool is_oldest_first_ = false;
  std::int64_t preemptions_ = 0;
};

}  // namespace linnet
