// The codes of N4 (quantized_rows.h). Apart, because kernels include it for every instruction set.
#pragma once

#include <cstdint>

namespace linnet {

inline constexpr std::int64_t kN4Group = 32;
// The levels of IQ4_NL, one per code, in ascending order.
alignas(16) inline constexpr std::int8_t kN4Levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                          1,    13,   25,  38,  53,  69,  89,  113};

// The byte that a code stands for: level * c / 128, rounded half up. In [-126, 126].
[[gnu::always_inline]] inline std::int8_t n4_byte(int code, std::int8_t c) {
  return static_cast<std::int8_t>((kN4Levels[code] * c + 64) >> 7);
}

}  // namespace linnet
