#include "engine/ticket.h"

#include <utility>

#include "base/error.h"

namespace linnet {

RequestResult Ticket::get() {
  wait_until(std::nullopt);
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(error_);
  return result_;
}

bool Ticket::wait_until(Deadline deadline) {
  std::unique_lock lock(mutex_);
  const auto ended = [&] { return has_ended_; };
  if (deadline) return ended_.wait_until(lock, *deadline, ended);
  ended_.wait(lock, ended);
  return true;
}

bool Ticket::has_ended() {
  const std::lock_guard lock(mutex_);
  return has_ended_;
}

void Ticket::settle(RequestResult result, std::exception_ptr error) {
  {
    const std::lock_guard lock(mutex_);
    LINNET_CHECK(!has_ended_, "a request that ends twice");
    result_ = std::move(result);
    error_ = error;
    has_ended_ = true;
  }
  ended_.notify_all();
}

}  // namespace linnet
