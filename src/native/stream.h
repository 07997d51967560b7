// A Stream: a bounded queue of calls and the one worker thread that makes them, in the order they
// came. Lanes and models are const, so any number of streams share one copy of the weights; they
// share its thread pool too, whose loops they take turns at. So streams give order and a place to
// wait, not more cores: the results are the same bits with one stream or sixteen. A call may itself
// wait for another stream, but not in a circle.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/error.h"

namespace linnet {

using Deadline = std::optional<std::chrono::steady_clock::time_point>;  // none: no end

// One call, from when it is queued until its answer is read. Shared by caller and stream.
class StreamCall {
 public:
  virtual ~StreamCall() = default;
  // Makes the call; what it throws is kept for its reader.
  void make(bool is_async);
  void refuse(std::exception_ptr error);
  bool wait_until(Deadline deadline);  // false: not answered by then
  void cancel() { cancel_.store(true, std::memory_order_relaxed); }
  const std::atomic<bool>& is_cancelled() const { return cancel_; }

 protected:
  virtual void work() = 0;
  void rethrow() const;  // once answered

 private:
  void answer();

  std::atomic<bool> cancel_{false};
  std::mutex mutex_;
  std::condition_variable answered_;
  bool is_answered_ = false;
  std::exception_ptr error_;
};

// Takes no argument, or the flag that is raised when its call is cancelled (RunOptions::cancel).
template <typename F>
auto call_with(F& function, const std::atomic<bool>& cancel) {
  if constexpr (std::is_invocable_v<F&, const std::atomic<bool>&>) {
    return function(cancel);
  } else {
    return function();
  }
}

template <typename F>
using StreamResult =
    decltype(call_with(std::declval<F&>(), std::declval<const std::atomic<bool>&>()));

template <typename R>
class AnsweredCall : public StreamCall {
 public:
  R get() {
    wait_until(std::nullopt);
    rethrow();
    if constexpr (!std::is_void_v<R>) return std::move(*value_);
  }

 protected:
  std::optional<std::conditional_t<std::is_void_v<R>, std::monostate, R>> value_;
};

template <typename F>
class FunctionCall final : public AnsweredCall<StreamResult<F>> {
 public:
  explicit FunctionCall(F function) : function_(std::move(function)) {}

 private:
  void work() override {
    if constexpr (std::is_void_v<StreamResult<F>>) {
      call_with(function_, this->is_cancelled());
      this->value_.emplace();
    } else {
      this->value_.emplace(call_with(function_, this->is_cancelled()));
    }
  }
  F function_;
};

struct StreamOptions {
  std::size_t queue_limit = 8192;
};

class Stream {
 public:
  // Error{out_of_memory} when the system has no room for another thread.
  explicit Stream(const StreamOptions& options = {});
  // Stops. Not to be called by the worker itself.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // The answer of a call that does not wait for it. Without a reader the call is made all the same.
  template <typename R>
  class Pending {
   public:
    Pending(Stream& stream, std::shared_ptr<AnsweredCall<R>> call)
        : stream_(&stream), call_(std::move(call)) {}
    // False when there is no answer by then; the call goes on.
    bool wait_until(Deadline deadline) { return call_->wait_until(deadline); }
    // The answer, or what the call threw. Once.
    R get() { return call_->get(); }
    // A call that is still queued is answered with Error{cancelled} at once; one that is being made
    // finds its flag raised. The stream must still be there.
    void cancel() { stream_->cancel(*call_); }

   private:
    Stream* stream_;
    std::shared_ptr<AnsweredCall<R>> call_;
  };

  // Errors of both: overloaded when queue_limit calls are waiting; cancelled once stopped;
  // out_of_memory; and, as the answer, what the function throws (std::bad_alloc as
  // Error{out_of_memory}). On the stream's own worker the function is called at once.
  //
  // post() is the asynchronous one: what the function refers to must live until the answer.
  // Event: the span async_eval, in place of the eval of the runs within.
  template <typename F>
  Pending<StreamResult<F>> post(F function) {
    return queue_up(std::move(function), true);
  }
  // Waits for the answer. At the deadline a call that is still queued ends in Error{cancelled}; one
  // that is being made finds its flag raised, and is waited for.
  template <typename F>
  StreamResult<F> call(F function, Deadline deadline = std::nullopt) {
    auto pending = queue_up(std::move(function), false);
    if (!pending.wait_until(deadline)) pending.cancel();
    return pending.get();
  }

  // Ends the call that is being made as soon as it looks at its flag, answers those that are queued
  // with Error{cancelled}, and waits for the worker (unless this is the worker).
  void stop();

  // The innermost StreamScope of this thread, or the stream whose worker it is; null: none.
  static Stream* current();

 private:
  friend class StreamScope;

  template <typename F>
  Pending<StreamResult<F>> queue_up(F function, bool is_async) {
    std::shared_ptr<FunctionCall<F>> call;
    try {
      call = std::make_shared<FunctionCall<F>>(std::move(function));
      push(call, is_async);
    } catch (const std::bad_alloc&) {
      fail(ErrorCode::out_of_memory, "no memory for one more call on a stream");
    }
    return {*this, std::move(call)};
  }
  struct Queued {
    std::shared_ptr<StreamCall> call;
    bool is_async;
  };
  void push(std::shared_ptr<StreamCall> call, bool is_async);
  void cancel(StreamCall& call);
  void work();

  std::size_t queue_limit_;
  std::exception_ptr refusal_;  // made ahead: stopping must not need memory
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Queued> queue_;
  std::shared_ptr<StreamCall> current_call_;
  bool is_stopped_ = false;
  std::mutex join_mutex_;
  std::thread worker_;  // the last member: it uses the others
};

// Makes a stream this thread's current one, until the end of the scope, however it is left.
class StreamScope {
 public:
  explicit StreamScope(Stream& stream);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  Stream* outer_;
};

// On the thread's current stream where it has one, else here.
template <typename F>
StreamResult<F> call_on_current_stream(F function) {
  if (Stream* stream = Stream::current()) return stream->call(std::move(function));
  static const std::atomic<bool> never{false};
  return call_with(function, never);
}

}  // namespace linnet
