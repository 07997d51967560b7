// The codes of S6 (quantized_rows.h). Apart, because kernels include it for every instruction set.
#pragma once

#include <cstdint>

namespace linnet {

inline constexpr std::int64_t kS6Group = 64;

// The byte that a code in [-32, 31] stands for: code * c / 32, rounded half up. In [-127, 127].
[[gnu::always_inline]] inline std::int8_t s6_byte(int code, std::int8_t c) {
  return static_cast<std::int8_t>((4 * code * c + 64) >> 7);
}

}  // namespace linnet
