// Monotonic time for durations and deadlines; civil time only where a date is shown.
#pragma once

#include <chrono>
#include <ctime>

namespace linnet {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace linnet
