// Limits on time in tests catch work that never ends or grows with the square, not slowness: they
// are far above what is measured, and further still where sanitizers slow everything down. They are
// limits on processor time: on a busy machine a test may wait for its turn as long as it must.
#pragma once

#include <ctime>

namespace linnet::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr double kTimeFactor = 20;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr double kTimeFactor = 20;
#else
inline constexpr double kTimeFactor = 3;
#endif
#else
inline constexpr double kTimeFactor = 3;
#endif

// Seconds of processor time that a piece of work may take which needs well below `seconds` of it.
constexpr double time_limit(double seconds) { return seconds * kTimeFactor; }

// Processor time of all threads of the test since the watch was made.
class ProcessorWatch {
 public:
  double seconds() const { return now() - begin_; }

 private:
  static double now() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }

  double begin_ = now();
};

}  // namespace linnet::testing
