// Numbers of sixteen lanes in memory that are floats, or become floats as they are loaded.
#pragma once

#include <cstdint>

namespace linnet {
namespace {

struct Bf16 {
  std::uint16_t bits;
};
struct F16 {
  std::uint16_t bits;
};

template <class L>
[[gnu::always_inline]] inline typename L::F load_numbers(const float* from) {
  return L::load(from);
}
template <class L>
[[gnu::always_inline]] inline typename L::F load_numbers(const Bf16* from) {
  return L::load_bf16(&from->bits);
}
template <class L>
[[gnu::always_inline]] inline typename L::F load_numbers(const F16* from) {
  return L::load_f16(&from->bits);
}

}  // namespace
}  // namespace linnet
