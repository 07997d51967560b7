// Linears over codes of floats (tensor/float_codes.h), as templates over lanes: the weights become
// the f32 that the format stands for, and then go through the sums of the f32 matrix, whose bits
// the results therefore have. As with N4, few rows widen in registers, and many share a widened
// strip.
#pragma once

#include "kernels/linear.h"
#include "tensor/nf4_levels.h"

namespace linnet {
namespace {

// Each calls use(low, high) for every input of a strip: the weights of the first and of the last
// sixteen outputs.
struct Nf4Strip {
  static constexpr std::int64_t kGroup = 64;

  template <class L, class Use>
  [[gnu::always_inline]] static inline void walk(const std::byte* at, std::int64_t inputs,
                                                 Use use) {
    using F = typename L::F;
    const typename L::Levels levels = L::load_levels(kNf4Levels);
    for (std::int64_t left = inputs; left > 0; left -= kGroup) {
      const auto* scales = reinterpret_cast<const float*>(at);
      const F low_scale = L::load(scales), high_scale = L::load(scales + 16);
      at += 4 * kStripOutputs;
      const std::int64_t count = left < kGroup ? left : kGroup;
#pragma GCC unroll 4
      for (std::int64_t i = 0; i < count; i += 2) {
        __builtin_prefetch(at + kPrefetchBytes);
        F low[2], high[2];
        L::choose_levels(at, levels, low[0], low[1]);
        L::choose_levels(at + 16, levels, high[0], high[1]);
        use(L::mul(low[0], low_scale), L::mul(high[0], high_scale));
        if (i + 1 < count) use(L::mul(low[1], low_scale), L::mul(high[1], high_scale));
        at += kStripOutputs;
      }
    }
  }
};

struct Mxfp8Strip {
  static constexpr std::int64_t kGroup = 32;

  template <class L, class Use>
  [[gnu::always_inline]] static inline void walk(const std::byte* at, std::int64_t inputs,
                                                 Use use) {
    using F = typename L::F;
    for (std::int64_t left = inputs; left > 0; left -= kGroup) {
      const auto* scales = reinterpret_cast<const Bf16*>(at);
      const F low_scale = load_numbers<L>(scales), high_scale = load_numbers<L>(scales + 16);
      at += 2 * kStripOutputs;
      const std::int64_t count = left < kGroup ? left : kGroup;
#pragma GCC unroll 4
      for (std::int64_t i = 0; i < count; ++i) {
        __builtin_prefetch(at + kPrefetchBytes);
        use(L::mul(L::load_e4m3(at), low_scale), L::mul(L::load_e4m3(at + 16), high_scale));
        at += kStripOutputs;
      }
    }
  }
};

template <class L, class Strip>
inline void widen_floats(const std::byte* weights, std::int64_t inputs, std::byte* to) {
  using F = typename L::F;
  auto* numbers = reinterpret_cast<float*>(to);
  Strip::template walk<L>(weights, inputs, [&](F low, F high) {
    L::store(numbers, low);
    L::store(numbers + 16, high);
    numbers += kStripOutputs;
  });
}

template <class L, class Strip>
void linear_float_codes(const LinearTask& task) {
  linear_codes<L, FloatTile<Strip>, FloatTile<NumberStrip<float>>, widen_floats<L, Strip>>(task);
}

}  // namespace
}  // namespace linnet
