// Linears over packed strips, as templates over lanes. One tile is M rows by the 32 outputs of a
// strip, its sums in registers over all inputs. Every output has one chain of sums in ascending
// order (f32), or one exact int32 (integers), so a row's bits depend on nothing but itself.
#pragma once

#include "kernels/activation.h"
#include "kernels/kernels.h"
#include "kernels/numbers.h"
#include "tensor/n4.h"

namespace linnet {
namespace {

// Far enough ahead that memory and arithmetic overlap, near enough to stay in the first cache.
constexpr std::int64_t kPrefetchBytes = 9216;

// The tail of a matrix whose outputs are no multiple of a vector.
template <class L>
inline void store_some(float* to, typename L::F value, std::int64_t count) {
  if (count >= 16) return L::store(to, value);
  float lanes[16];
  L::store(lanes, value);
  for (std::int64_t i = 0; i < count; ++i) to[i] = lanes[i];
}

template <class L>
inline typename L::F load_some(const float* from, std::int64_t count) {
  if (count >= 16) return L::load(from);
  float lanes[16] = {};
  for (std::int64_t i = 0; i < count; ++i) lanes[i] = from[i];
  return L::load(lanes);
}

template <class L>
inline typename L::F with_bias(const LinearTask& task, std::int64_t strip, int half,
                               const float* result) {
  const typename L::F value = L::load(result + 16 * half);
  if (!task.bias) return value;
  return L::add(value, L::load(task.bias + strip * kStripOutputs + 16 * half));
}

// Stores one row's results of a strip, [32]. Not inlined: the tiles need the registers.
template <class L>
[[gnu::noinline]] void finish(const LinearTask& task, std::int64_t strip, std::int64_t row,
                              const float* result) {
  using F = typename L::F;
  if (task.epilogue == Epilogue::gate) {
    const F gate = activated<L>(task.activation, with_bias<L>(task, strip, 0, result));
    float* out = task.out + row * task.out_stride + strip * 16;
    store_some<L>(out, L::mul(gate, with_bias<L>(task, strip, 1, result)),
                  task.outputs - strip * 16);
    return;
  }
  for (int half = 0; half < 2; ++half) {
    const std::int64_t column = strip * kStripOutputs + 16 * half;
    const std::int64_t left = task.outputs - column;
    if (left <= 0) break;
    float* out = task.out + row * task.out_stride + column;
    F value = with_bias<L>(task, strip, half, result);
    if (task.epilogue == Epilogue::add) value = L::add(load_some<L>(out, left), value);
    store_some<L>(out, value, left);
  }
}

// What a tile reads: a strip, where its scales are, and a tile of rows.
struct TileSource {
  const std::byte* strip;
  const float* scales;  // [32] of the outputs
  const std::byte* x;
  std::int64_t row;
};

template <class L, int M>
struct IntegerSums {
  typename L::I lane[M][2];

  [[gnu::always_inline]] inline void begin(const LinearTask& task, std::int64_t row) {
#pragma GCC unroll 12
    for (int m = 0; m < M; ++m) {
      lane[m][0] = lane[m][1] = L::splat_int(-L::kZero * task.x.sum[row + m]);
    }
  }
  [[gnu::always_inline]] inline void add(const std::byte* x, typename L::W low,
                                         typename L::W high) {
#pragma GCC unroll 12
    for (int m = 0; m < M; ++m) {
      const typename L::A a = L::splat_quad(x + 4 * m);
      lane[m][0] = L::dot(lane[m][0], low, a);
      lane[m][1] = L::dot(lane[m][1], high, a);
    }
  }
  [[gnu::always_inline]] inline void end(const LinearTask& task, std::int64_t strip,
                                         const TileSource& source) const {
    alignas(64) float results[M][kStripOutputs];
    const typename L::F low = L::load(source.scales), high = L::load(source.scales + 16);
#pragma GCC unroll 12
    for (int m = 0; m < M; ++m) {
      const typename L::F scale = L::splat(task.x.scale[source.row + m]);
      L::store(results[m], L::mul(L::mul(L::to_float(lane[m][0]), low), scale));
      L::store(results[m] + 16, L::mul(L::mul(L::to_float(lane[m][1]), high), scale));
    }
    for (int m = 0; m < M; ++m) finish<L>(task, strip, source.row + m, results[m]);
  }
};

struct ByteTile {
  static constexpr std::int64_t kInputsPerUnit = 4;
  template <class L, int M>
  static void run(const LinearTask& task, std::int64_t strip, const TileSource& source) {
    IntegerSums<L, M> sums;
    sums.begin(task, source.row);
    const std::byte* weights = source.strip;
    const std::byte* x = source.x;
#pragma GCC unroll 2
    for (std::int64_t unit = 0; unit < task.inputs / 4; ++unit) {
      __builtin_prefetch(weights + kPrefetchBytes);
      __builtin_prefetch(weights + kPrefetchBytes + 64);
      sums.add(x, L::load_weights(weights), L::load_weights(weights + 64));
      weights += 128;
      x += 4 * M;
    }
    sums.end(task, strip, source);
  }
};

// Calls use(low, high, next_low, next_high) for every eight inputs of a strip of codes: the weights
// of the first and the last sixteen outputs, four inputs each, then of the other four inputs.
template <class L, class Use>
[[gnu::always_inline]] inline void walk_codes(const std::byte* at, std::int64_t inputs, Use use) {
  const std::byte* scales = at;
  for (std::int64_t group = 0; group < inputs / kN4Group; ++group) {
    if (group % 4 == 0) {
      scales = at;
      at += 4 * kStripOutputs;
    }
    const std::byte* own = scales + group % 4 * kStripOutputs;
    const auto low_scales = L::load_scales(own), high_scales = L::load_scales(own + 16);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      __builtin_prefetch(at + kPrefetchBytes);
      __builtin_prefetch(at + kPrefetchBytes + 64);
      typename L::W low[2], high[2];
      L::widen(at, low_scales, low[0], low[1]);
      L::widen(at + 64, high_scales, high[0], high[1]);
      use(low[0], high[0], low[1], high[1]);
      at += 128;
    }
  }
}

struct CodeTile {
  static constexpr std::int64_t kInputsPerUnit = 4;
  template <class L, int M>
  static void run(const LinearTask& task, std::int64_t strip, const TileSource& source) {
    using W = typename L::W;
    IntegerSums<L, M> sums;
    sums.begin(task, source.row);
    const std::byte* x = source.x;
    walk_codes<L>(
        source.strip,
        task.inputs, [&](W low, W high, W next_low, W next_high) __attribute__((always_inline)) {
          sums.add(x, low, high);
          sums.add(x + 4 * M, next_low, next_high);
          x += 8 * M;
        });
    sums.end(task, strip, source);
  }
};

// Calls use(low, high) for every input of a strip of numbers: the weights of the first and of the
// last sixteen outputs. Strips of codes that stand for floats have the same (float_codes.h).
template <class Number>
struct NumberStrip {
  template <class L, class Use>
  [[gnu::always_inline]] static inline void walk(const std::byte* at, std::int64_t inputs,
                                                 Use use) {
    const auto* numbers = reinterpret_cast<const Number*>(at);
    for (std::int64_t k = 0; k < inputs; ++k) {
      __builtin_prefetch(reinterpret_cast<const std::byte*>(numbers) + kPrefetchBytes);
      use(load_numbers<L>(numbers), load_numbers<L>(numbers + 16));
      numbers += kStripOutputs;
    }
  }
};

template <class Strip>
struct FloatTile {
  static constexpr std::int64_t kInputsPerUnit = 1;
  template <class L, int M>
  static void run(const LinearTask& task, std::int64_t strip, const TileSource& source) {
    using F = typename L::F;
    F sums[M][2];
#pragma GCC unroll 12
    for (int m = 0; m < M; ++m) sums[m][0] = sums[m][1] = L::splat(0.0f);
    const auto* x = reinterpret_cast<const float*>(source.x);
    Strip::template walk<L>(
        source.strip, task.inputs, [&](F low, F high) __attribute__((always_inline)) {
#pragma GCC unroll 12
          for (int m = 0; m < M; ++m) {
            const F value = L::splat(x[m]);
            sums[m][0] = L::fma(low, value, sums[m][0]);
            sums[m][1] = L::fma(high, value, sums[m][1]);
          }
          x += M;
        });
    alignas(64) float results[M][kStripOutputs];
#pragma GCC unroll 12
    for (int m = 0; m < M; ++m) {
      L::store(results[m], sums[m][0]);
      L::store(results[m] + 16, sums[m][1]);
    }
    for (int m = 0; m < M; ++m) finish<L>(task, strip, source.row + m, results[m]);
  }
};

// Calls Tile::run with the number of rows as a constant.
template <class L, class Tile, int M>
inline void run_rows(std::int64_t rows, const LinearTask& task, std::int64_t strip,
                     const TileSource& source) {
  if (rows == M) return Tile::template run<L, M>(task, strip, source);
  if constexpr (M > 1) run_rows<L, Tile, M - 1>(rows, task, strip, source);
}

// All rows of the task on one strip.
template <class L, class Tile, int Most>
inline void run_strip(const LinearTask& task, std::int64_t strip, const std::byte* weights,
                      const float* scales) {
  const std::int64_t unit_bytes = task.inputs / Tile::kInputsPerUnit * 4;  // of one row
  const std::int64_t tile =
      task.x.rows <= L::kFewRows ? even_tile(task.x.rows, L::kWidenRows) : L::kTileRows;
  for (std::int64_t row = 0; row < task.x.rows; row += tile) {
    const std::int64_t left = task.x.rows - row;
    const std::int64_t rows = left < tile ? left : tile;
    run_rows<L, Tile, Most>(rows, task, strip,
                            {weights, scales, task.x.units + row * unit_bytes, row});
  }
}

template <class L, class Number>
void linear_float(const LinearTask& task) {
  for (std::int64_t strip = task.first_strip; strip < task.end_strip; ++strip) {
    run_strip<L, FloatTile<NumberStrip<Number>>, L::kTileRows>(
        task, strip, task.strips + strip * task.strip_bytes, nullptr);
  }
}

inline const float* strip_scales(const LinearTask& task, const std::byte* weights) {
  return reinterpret_cast<const float*>(weights + task.strip_bytes) - kStripOutputs;
}

template <class L>
void linear_i8(const LinearTask& task) {
  for (std::int64_t strip = task.first_strip; strip < task.end_strip; ++strip) {
    const std::byte* weights = task.strips + strip * task.strip_bytes;
    run_strip<L, ByteTile, L::kTileRows>(task, strip, weights, strip_scales(task, weights));
  }
}

// The codes of a strip as bytes, in the order of linear_i8.
template <class L>
inline void widen_strip(const std::byte* weights, std::int64_t inputs, std::byte* to) {
  using W = typename L::W;
  walk_codes<L>(weights, inputs, [&](W low, W high, W next_low, W next_high) {
    L::store_weights(to, low);
    L::store_weights(to + 64, high);
    L::store_weights(to + 128, next_low);
    L::store_weights(to + 192, next_high);
    to += 256;
  });
}

// Few rows widen the codes in registers, once per tile; many rows share one widened strip.
template <class L, class Tile, class WideTile, auto kWiden>
void linear_codes(const LinearTask& task) {
  for (std::int64_t strip = task.first_strip; strip < task.end_strip; ++strip) {
    const std::byte* weights = task.strips + strip * task.strip_bytes;
    const float* scales = strip_scales(task, weights);
    if (task.x.rows <= L::kFewRows) {
      run_strip<L, Tile, L::kWidenRows>(task, strip, weights, scales);
    } else {
      kWiden(weights, task.inputs, task.scratch);
      run_strip<L, WideTile, L::kTileRows>(task, strip, task.scratch, scales);
    }
  }
}

template <class L>
void linear_n4(const LinearTask& task) {
  linear_codes<L, CodeTile, ByteTile, widen_strip<L>>(task);
}

}  // namespace
}  // namespace linnet
