#include "base/thread_pool.h"

#include <fmt/core.h>
#include <sched.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace linnet {
namespace {

// About as long as one matrix of a small model takes; sleeping costs some 20 us to wake.
constexpr int kSpins = 20000;

#if defined(__x86_64__)
inline void pause() { __builtin_ia32_pause(); }
#elif defined(__aarch64__)
inline void pause() { asm volatile("yield"); }
#else
inline void pause() {}
#endif

// Spins until `value` differs from `old`, then sleeps.
std::uint32_t wait_for_change(const std::atomic<std::uint32_t>& value, std::uint32_t old) {
  for (int i = 0; i < kSpins; ++i) {
    const std::uint32_t now = value.load(std::memory_order_acquire);
    if (now != old) return now;
    pause();
  }
  value.wait(old, std::memory_order_acquire);
  return value.load(std::memory_order_acquire);
}

std::uint64_t pack(std::uint64_t front, std::uint64_t back) { return front << 32 | back; }

}  // namespace

int available_cores() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

ThreadPool::ThreadPool(int threads)
    : shares_(
          static_cast<std::size_t>(std::clamp(threads > 0 ? threads : available_cores(), 1, 256))) {
  threads_.reserve(shares_.size() - 1);
  try {
    for (int i = 1; i < size(); ++i) threads_.emplace_back([this, i] { worker(i); });
  } catch (const std::system_error& error) {
    const std::size_t started = threads_.size();
    stop();
    fail(ErrorCode::out_of_memory,
         fmt::format("cannot start thread {} of {} ({}): ask for fewer threads", started + 2,
                     size(), error.code().message()));
  } catch (...) {
    stop();
    throw;
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  stop_.store(true, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::parallel_for(std::int64_t count, std::int64_t grain, LoopBody body) {
  LINNET_CHECK(count >= 0 && grain > 0);
  if (count == 0) return;
  const std::int64_t pieces = (count + grain - 1) / grain;
  if (size() == 1 || pieces == 1) return body(0, count);
  LINNET_CHECK(pieces < (std::int64_t{1} << 31), "grain too small for this loop");

  const std::lock_guard lock(loop_mutex_);
  body_ = &body;
  count_ = count;
  grain_ = grain;
  unfinished_.store(static_cast<std::uint32_t>(pieces), std::memory_order_relaxed);
  for (int i = 0; i < size(); ++i) {
    shares_[i].range.store(pack(pieces * i / size(), pieces * (i + 1) / size()),
                           std::memory_order_release);
  }
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  run_pieces(0);
  // Only for pieces that others are at: a worker that never woke is not waited for.
  for (std::uint32_t left = unfinished_.load(std::memory_order_acquire); left != 0;) {
    left = wait_for_change(unfinished_, left);
  }
  body_ = nullptr;
  if (failed_.exchange(false)) std::rethrow_exception(std::exchange(error_, nullptr));
}

void ThreadPool::worker(int index) {
  for (std::uint32_t seen = 0;;) {
    seen = wait_for_change(generation_, seen);
    if (stop_.load(std::memory_order_relaxed)) return;
    run_pieces(index);
  }
}

void ThreadPool::run_pieces(int index) {
  std::int64_t piece;
  std::uint32_t own = 0;
  while (take_front(shares_[index], piece)) {
    run_piece(piece);
    ++own;
  }
  finish_pieces(own);
  for (int other = 1; other < size(); ++other) {
    Share& share = shares_[(index + other) % size()];
    while (take_back(share, piece)) {
      run_piece(piece);
      finish_pieces(1);
    }
  }
}

void ThreadPool::finish_pieces(std::uint32_t count) {
  if (count == 0) return;
  if (unfinished_.fetch_sub(count, std::memory_order_acq_rel) == count) unfinished_.notify_one();
}

bool ThreadPool::take_front(Share& share, std::int64_t& piece) {
  std::uint64_t range = share.range.load(std::memory_order_relaxed);
  for (;;) {
    const std::uint64_t front = range >> 32, back = range & 0xFFFFFFFF;
    if (front >= back) return false;
    piece = static_cast<std::int64_t>(front);
    if (share.range.compare_exchange_weak(range, pack(front + 1, back), std::memory_order_acquire,
                                          std::memory_order_relaxed)) {
      return true;
    }
  }
}

bool ThreadPool::take_back(Share& share, std::int64_t& piece) {
  std::uint64_t range = share.range.load(std::memory_order_relaxed);
  for (;;) {
    const std::uint64_t front = range >> 32, back = range & 0xFFFFFFFF;
    if (front >= back) return false;
    piece = static_cast<std::int64_t>(back - 1);
    if (share.range.compare_exchange_weak(range, pack(front, back - 1), std::memory_order_acquire,
                                          std::memory_order_relaxed)) {
      return true;
    }
  }
}

void ThreadPool::run_piece(std::int64_t piece) {
  const std::int64_t begin = piece * grain_;
  try {
    if (!failed_.load(std::memory_order_relaxed)) (*body_)(begin, std::min(begin + grain_, count_));
  } catch (...) {
    if (!failed_.exchange(true)) error_ = std::current_exception();
  }
}

}  // namespace linnet
