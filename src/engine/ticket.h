// A request in the hands of the engine, as its caller sees it. Thread-safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>

#include "engine/request.h"

namespace linnet {

class Ticket {
 public:
  // The answers, or what went wrong as an Error; waits for the end.
  RequestResult get();
  // False when it has not ended by then.
  bool wait_until(Deadline deadline);
  bool has_ended();
  // The answers end as FinishReason::cancelled with what was made so far.
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  // Closes a thought that is open; the answer follows.
  void end_thought() { end_thought_.store(true, std::memory_order_relaxed); }

 private:
  friend class BatchEngine;
  friend class RequestRun;
  void settle(RequestResult result, std::exception_ptr error);

  std::atomic<bool> cancelled_{false};
  std::atomic<bool> end_thought_{false};
  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  RequestResult result_;
  std::exception_ptr error_;
};

}  // namespace linnet
