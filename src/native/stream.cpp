#include "native/stream.h"

#include <fmt/core.h>

#include <algorithm>
#include <new>
#include <system_error>

#include "base/telemetry.h"

namespace linnet {
namespace {

thread_local Stream* current_stream = nullptr;
thread_local const Stream* stream_of_worker = nullptr;

std::exception_ptr make_refusal() {
  return std::make_exception_ptr(Error(
      ErrorCode::cancelled, "the call was cancelled, or its stream stopped, before its turn"));
}

}  // namespace

void StreamCall::make(bool is_async) {
  try {
    if (is_async) {
      const OuterSpan span("async_eval");
      work();
    } else {
      work();
    }
  } catch (const std::bad_alloc&) {
    try {
      fail(ErrorCode::out_of_memory, "no memory for a call on a stream");
    } catch (...) {
      error_ = std::current_exception();
    }
  } catch (...) {
    error_ = std::current_exception();
  }
  answer();
}

void StreamCall::refuse(std::exception_ptr error) {
  error_ = std::move(error);
  answer();
}

void StreamCall::answer() {
  // Notified under the lock: afterwards the reader may destroy the call.
  const std::lock_guard lock(mutex_);
  is_answered_ = true;
  answered_.notify_all();
}

bool StreamCall::wait_until(Deadline deadline) {
  std::unique_lock lock(mutex_);
  const auto is_done = [&] { return is_answered_; };
  if (deadline) return answered_.wait_until(lock, *deadline, is_done);
  answered_.wait(lock, is_done);
  return true;
}

void StreamCall::rethrow() const {
  if (error_) std::rethrow_exception(error_);
}

Stream::Stream(const StreamOptions& options) try
    : queue_limit_(options.queue_limit), refusal_(make_refusal()), worker_([this] { work(); }) {
} catch (const std::system_error& error) {
  fail(ErrorCode::out_of_memory,
       fmt::format("cannot start the worker of a stream ({}): use fewer streams",
                   error.code().message()));
} catch (const std::bad_alloc&) {
  fail(ErrorCode::out_of_memory, "no memory for one more stream");
}

Stream::~Stream() {
  LINNET_CHECK(stream_of_worker != this, "a stream destroyed by its own worker");
  stop();
}

void Stream::push(std::shared_ptr<StreamCall> call, bool is_async) {
  if (stream_of_worker == this) return call->make(is_async);
  const std::lock_guard lock(mutex_);
  if (is_stopped_) fail(ErrorCode::cancelled, "the stream was stopped");
  if (queue_.size() >= queue_limit_) {
    fail(ErrorCode::overloaded,
         fmt::format("{} calls wait in the stream's queue, which is its limit: wait for some of "
                     "their answers first",
                     queue_.size()));
  }
  queue_.push_back({std::move(call), is_async});
  changed_.notify_one();
}

void Stream::cancel(StreamCall& call) {
  call.cancel();
  std::shared_ptr<StreamCall> withdrawn;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(queue_.begin(), queue_.end(),
                                    [&](const Queued& each) { return each.call.get() == &call; });
    if (found == queue_.end()) return;
    withdrawn = std::move(found->call);
    queue_.erase(found);
  }
  withdrawn->refuse(refusal_);
}

void Stream::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    if (current_call_) current_call_->cancel();
    changed_.notify_one();
  }
  for (;;) {
    std::shared_ptr<StreamCall> refused;
    {
      const std::lock_guard lock(mutex_);
      if (queue_.empty()) break;
      refused = std::move(queue_.front().call);
      queue_.pop_front();
    }
    refused->refuse(refusal_);
  }
  if (stream_of_worker == this) return;
  const std::lock_guard lock(join_mutex_);
  if (worker_.joinable()) worker_.join();
}

void Stream::work() {
  current_stream = this;
  stream_of_worker = this;
  for (;;) {
    bool is_async = false;
    std::shared_ptr<StreamCall> call;
    {
      std::unique_lock lock(mutex_);
      current_call_.reset();
      changed_.wait(lock, [&] { return is_stopped_ || !queue_.empty(); });
      if (is_stopped_) return;
      call = std::move(queue_.front().call);
      is_async = queue_.front().is_async;
      queue_.pop_front();
      current_call_ = call;
    }
    call->make(is_async);
  }
}

Stream* Stream::current() { return current_stream; }

StreamScope::StreamScope(Stream& stream) : outer_(std::exchange(current_stream, &stream)) {}

StreamScope::~StreamScope() { current_stream = outer_; }

}  // namespace linnet
