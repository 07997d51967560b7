// Limits on time in tests catch work that never ends or grows with the square, not slowness: they
// are far above what is measured, and further still where sanitizers slow everything down.
#pragma once

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

// Seconds that a piece of work may take which needs well below `seconds` on a quiet machine.
constexpr double time_limit(double seconds) { return seconds * kTimeFactor; }

}  // namespace linnet::testing
