// Runs all lines of a batch together on one engine and writes their records as they are finished,
// or in the order of the lines. What is in memory does not grow with the number of lines, but for a
// few bytes of each.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "cli/batch_files.h"
#include "cli/batch_job.h"
#include "cli/progress_bar.h"
#include "engine/batch_engine.h"

namespace linnet {

struct BatchCounts {
  std::int64_t answered = 0, failed = 0, skipped = 0;  // lines
  std::int64_t prompt_tokens = 0, cached_tokens = 0, answer_tokens = 0;
  std::int64_t drafted_tokens = 0, accepted_tokens = 0;
};

class BatchRun {
 public:
  // All of them must live longer. `parallel`: sequences at a time; a line that wants more runs
  // alone.
  BatchRun(const BatchSettings& settings, std::int64_t parallel, bool ordered, BatchInput& input,
           BatchOutput& output, const Terminal& terminal);

  // Until the end of the input, or an interruption (interrupt.h): what is finished by then is
  // written. Errors of a line are in its record. Error{io} of the files; Error{invalid_argument}
  // when the output belongs to another input or other settings.
  void run();
  const BatchCounts& counts() const { return counts_; }
  EngineStats stats() const { return engine_->stats(); }

 private:
  struct Open {
    std::unique_ptr<BatchJob> job;
    Request request;
    std::shared_ptr<Ticket> ticket;
    std::int64_t turn = 0;  // among the records
  };

  void fill();
  bool read_line();
  bool is_skipped(const BatchJob& job);
  bool has_room(std::int64_t sequences) const;
  void submit();
  void collect();
  void take_result(Open& open);
  void fail_line(const Open& open, const Error& error);
  void emit(const Open& open, std::string record);
  void wait();
  void show_progress();

  const BatchSettings& settings_;
  const std::uint64_t settings_checksum_;
  const std::int64_t parallel_;
  const bool ordered_;
  BatchInput& input_;
  BatchOutput& output_;
  ProgressBar bar_;
  const Clock::time_point start_ = Clock::now();

  std::optional<Open> next_;  // read, and waits for room
  bool is_at_end_ = false;
  std::unordered_set<std::uint64_t> ids_;  // checksums of all that were read
  std::map<std::int64_t, Open> open_;      // by line
  std::int64_t open_sequences_ = 0;
  std::int64_t turns_ = 0, written_ = 0;
  std::map<std::int64_t, std::string> held_;  // records whose turn has not come
  std::uint64_t done_bytes_ = 0;
  BatchCounts counts_;

  std::mutex mutex_;  // of what follows, which the engine's thread writes to
  std::condition_variable changed_;
  std::vector<std::int64_t> ended_;  // lines

  std::unique_ptr<BatchEngine> engine_;  // the first to go: its thread uses the others
};

}  // namespace linnet
