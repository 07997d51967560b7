// Linears over S6: as over N4 (linear.h), with another way to widen the codes.
#pragma once

#include "kernels/linear.h"
#include "tensor/s6.h"

namespace linnet {
namespace {

// Calls use(low, high) for every four inputs of a strip of 6-bit codes: the weights of the first
// and of the last sixteen outputs.
template <class L, class Use>
[[gnu::always_inline]] inline void walk_s6(const std::byte* at, std::int64_t inputs, Use use) {
  const std::byte* scales = at;
  for (std::int64_t group = 0; group < inputs / kS6Group; ++group) {
    if (group % 2 == 0) {
      scales = at;
      at += 2 * kStripOutputs;
    }
    const std::byte* own = scales + group % 2 * kStripOutputs;
    const auto low_scales = L::load_scales(own), high_scales = L::load_scales(own + 16);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
#pragma GCC unroll 6
      for (int line = 0; line < 6; ++line) __builtin_prefetch(at + kPrefetchBytes + 64 * line);
      typename L::W low[4], high[4];
      L::widen6(at, low_scales, low);
      L::widen6(at + 192, high_scales, high);
#pragma GCC unroll 4
      for (int part = 0; part < 4; ++part) use(low[part], high[part]);
      at += 384;
    }
  }
}

struct SixBitTile {
  static constexpr std::int64_t kInputsPerUnit = 4;
  template <class L, int M>
  static void run(const LinearTask& task, std::int64_t strip, const TileSource& source) {
    using W = typename L::W;
    IntegerSums<L, M> sums;
    sums.begin(task, source.row);
    const std::byte* x = source.x;
    walk_s6<L>(
        source.strip, task.inputs, [&](W low, W high) __attribute__((always_inline)) {
          sums.add(x, low, high);
          x += 4 * M;
        });
    sums.end(task, strip, source);
  }
};

// The codes of a strip as bytes, in the order of linear_i8.
template <class L>
inline void widen_s6(const std::byte* weights, std::int64_t inputs, std::byte* to) {
  using W = typename L::W;
  walk_s6<L>(weights, inputs, [&](W low, W high) {
    L::store_weights(to, low);
    L::store_weights(to + 64, high);
    to += 128;
  });
}

template <class L>
void linear_s6(const LinearTask& task) {
  linear_codes<L, SixBitTile, ByteTile, widen_s6<L>>(task);
}

}  // namespace
}  // namespace linnet
