// A request on its way: its sequences in the scheduler, and what becomes of the logits they give.
// Each decoding method is one kind of run.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/clock.h"
#include "engine/runner.h"
#include "engine/scheduler.h"
#include "engine/speculation.h"
#include "engine/ticket.h"
#include "model/model.h"
#include "text/tokenizer.h"

namespace linnet {

// What all runs of an engine share.
struct RunParts {
  const Model* model = nullptr;
  const Tokenizer* tokenizer = nullptr;  // or null
  std::shared_ptr<BlockPool> pool;
  std::int64_t context = 0;            // positions that a sequence may have
  Speculation* speculation = nullptr;  // null: none
};

class RequestRun {
 public:
  // Of the request's own method. Errors: invalid_argument for what the request asks for.
  static std::unique_ptr<RequestRun> make(Request request, std::int64_t number,
                                          std::shared_ptr<Ticket> ticket, const RunParts& parts);
  virtual ~RequestRun() = default;

  // Blocks that its sequences may come to hold together.
  virtual std::int64_t most_blocks() const = 0;
  virtual std::int64_t most_sequences() const = 0;
  virtual void begin(Scheduler& scheduler) = 0;
  // What a pass gave of one of its sequences, whose cache holds the rows. Called for several of
  // them at once. What it throws is kept and ends the run.
  void take_logits(const SequenceLogits& given);
  // On the engine's thread after each pass: events, new sequences, ended ones. True at the end.
  bool settle(Scheduler& scheduler);

  // Ends the run at once: with what there is, or with an error.
  void end(Scheduler& scheduler, FinishReason reason);
  void fail_with(Scheduler& scheduler, std::exception_ptr error);

  const Request& request() const { return request_; }
  std::int64_t number() const { return number_; }
  bool is_cancelled() const;
  bool is_late(Clock::time_point now) const {
    return request_.deadline && now >= *request_.deadline;
  }
  const std::atomic<bool>& cancel_flag() const;
  void note_start();                             // of a pass with its rows
  void note_progress(const Sequence& sequence);  // of the prompt, by that pass

 protected:
  RequestRun(Request request, std::int64_t number, std::shared_ptr<Ticket> ticket,
             const RunParts& parts);
  std::shared_ptr<Sequence> new_sequence(std::int64_t index) const;
  std::int64_t most_new() const { return most_new_; }
  std::uint64_t seed() const { return seed_; }
  const RunParts& parts() const { return parts_; }
  bool must_end_thought() const { return ticket_->end_thought_.load(std::memory_order_relaxed); }

  // All ids are computed: `logits` [1 + drafts, vocab] follow the last of them and the drafts.
  virtual void take_hidden(std::int64_t first, std::span<const float> hidden) {
    static_cast<void>(first), static_cast<void>(hidden);
  }
  virtual void advance(Sequence& sequence, std::int64_t drafts, std::span<const float> logits,
                       std::span<const float> hidden) = 0;
  // Tells events, forks and removes sequences; true when all answers have ended.
  virtual bool publish(Scheduler& scheduler) = 0;
  virtual void end_all(Scheduler& scheduler, FinishReason reason) = 0;
  virtual void remove_all(Scheduler& scheduler) = 0;
  virtual std::vector<GenerationResult> results() = 0;

 private:
  void finish(std::exception_ptr error);
  void keep_error();
  void take_prompt_logits(std::int64_t first, std::span<const float> logits);

  Request request_;
  std::int64_t number_;
  std::shared_ptr<Ticket> ticket_;
  RunParts parts_;
  std::int64_t most_new_ = 0;
  std::uint64_t seed_ = 0;
  std::vector<RowLogProbs> prompt_log_probabilities_;
  std::int64_t cached_ = 0;
  Clock::time_point queued_, started_, answering_;
  bool has_started_ = false, is_answering_ = false;
  std::mutex error_mutex_;
  std::exception_ptr error_;  // of take_logits
};

}  // namespace linnet
