// Threads that share loops. Each thread walks its own contiguous share from the front, so that it
// reads memory as one stream; a thread that is done steals from the back of the others' shares.
// Idle threads spin for about as long as one matrix takes, then sleep.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace linnet {

// A reference to a callable; it must outlive the call it is passed to.
class LoopBody {
 public:
  template <typename F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, LoopBody>)
      LoopBody(F&& body)  // NOLINT: meant to convert
      : object_(const_cast<void*>(static_cast<const void*>(&body))),
        call_([](void* object, std::int64_t begin, std::int64_t end) {
          (*static_cast<std::remove_reference_t<F>*>(object))(begin, end);
        }) {}
  void operator()(std::int64_t begin, std::int64_t end) const { call_(object_, begin, end); }

 private:
  void* object_;
  void (*call_)(void*, std::int64_t, std::int64_t);
};

class ThreadPool {
 public:
  // 0 threads: as many as the cores this process may use. The calling thread is one of them.
  // Error{out_of_memory} when the system has no room for so many.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(shares_.size()); }

  // Calls body(begin, end) until [0, count) is covered, in pieces of `grain` (the last may be
  // smaller). Which thread runs which piece is not fixed: a body must write only to its own
  // indices. The first exception of a body is thrown here. One loop at a time: concurrent callers
  // wait for each other, and a body must not call parallel_for of its own pool.
  void parallel_for(std::int64_t count, std::int64_t grain, LoopBody body);

 private:
  // Front and back of a share, in pieces, in one word: taken by compare-and-swap from both ends.
  struct alignas(64) Share {
    std::atomic<std::uint64_t> range{0};
  };

  void stop();
  void worker(int index);
  void run_pieces(int index);
  void finish_pieces(std::uint32_t count);
  bool take_front(Share& share, std::int64_t& piece);
  bool take_back(Share& share, std::int64_t& piece);
  void run_piece(std::int64_t piece);

  std::vector<Share> shares_;
  std::vector<std::thread> threads_;
  std::mutex loop_mutex_;

  // Written before the shares are filled, read only by who took a piece: a worker that wakes late
  // finds empty shares, or pieces of a newer loop, which it may as well run.
  const LoopBody* body_ = nullptr;
  std::int64_t count_ = 0;
  std::int64_t grain_ = 1;
  alignas(64) std::atomic<std::uint32_t> generation_{0};
  alignas(64) std::atomic<std::uint32_t> unfinished_{0};  // pieces of the loop
  std::atomic<bool> stop_{false};
  std::atomic<bool> failed_{false};
  std::exception_ptr error_;
};

// Cores this process may run on (respects affinity).
int available_cores();

}  // namespace linnet
