// Linears over grouped matrices, as templates over lanes: int8 activations with a scale of their
// own for every group of the weights. What defines the bits, for each output:
//   f = 0; for the groups in ascending order:
//     d = exact int32 of the sum of level * activation
//     f = fma(float(d) * activation scale, scale, f)
//     f = fma(bias, activation scale * float(sum of the activations), f), with biases only
#pragma once

#include "kernels/grouped_strip.h"
#include "kernels/linear.h"
#include "kernels/rows.h"

namespace linnet {
namespace {

// One row in groups; see Kernels::quantize_groups.
template <class L>
void quantize_groups(const float* x, std::int64_t inputs, std::int64_t group, std::int32_t zero,
                     std::byte* to) {
  for (std::int64_t k = 0; k < inputs; k += group) {
    struct {
      float scale, weighted_sum;
      std::int32_t start;
    } head;
    std::int32_t sum;
    quantize_row<L>(x + k, group, group, reinterpret_cast<std::int8_t*>(to + sizeof head),
                    &head.scale, &sum);
    head.weighted_sum = head.scale * static_cast<float>(sum);
    head.start = (zero - L::kZero) * sum;
    __builtin_memcpy(to, &head, sizeof head);
    to += static_cast<std::int64_t>(sizeof head) + group;
  }
}

// The scales of a span as floats, [groups][32], or its biases.
template <class L>
[[gnu::always_inline]] inline void expand_scales(GroupScale kind, std::int64_t groups,
                                                 const std::byte* from, float* to) {
  const auto* halves = reinterpret_cast<const std::uint16_t*>(from);
  const auto* floats = reinterpret_cast<const float*>(from);
  const auto* factors = reinterpret_cast<const std::int8_t*>(from + 2 * kStripOutputs);
#pragma GCC unroll 2
  for (int half = 0; half < 2; ++half) {
    const std::int64_t at = 16 * half;
    switch (kind) {
      case GroupScale::f16:
        L::store(to + at, L::load_f16(halves + at));
        break;
      case GroupScale::bf16:
        L::store(to + at, L::load_bf16(halves + at));
        break;
      case GroupScale::f32:
        L::store(to + at, L::load(floats + at));
        break;
      case GroupScale::product: {
        const typename L::F unit = L::load_f16(halves + at);
        for (std::int64_t i = at; i < groups * kStripOutputs; i += kStripOutputs) {
          L::store(to + i, L::mul(unit, L::to_float(L::load_bytes(factors + i))));
        }
        break;
      }
    }
  }
}

// What the tiles of a strip read. The first of them writes the scales as floats.
struct GroupSource {
  const GroupedStrip& layout;
  const std::byte* strip;
  float* scales;  // [groups][32]
  float* biases;  // the same, or null
};

// M rows by a strip: x holds, for each group, [M] scales, [M] weighted sums, [M] starts and
// [G / 4][M] units of four activations.
template <class L, int M, int G, bool HasTable>
void group_tile(const LinearTask& task, std::int64_t strip, const GroupSource& source,
                const std::byte* x, std::int64_t row) {
  using F = typename L::F;
  using I = typename L::I;
  using W = typename L::W;
  F sums[M][2];
#pragma GCC unroll 6
  for (int m = 0; m < M; ++m) sums[m][0] = sums[m][1] = L::splat(0.0f);
  const GroupedStrip& layout = source.layout;
  const typename L::Table table = L::load_table(layout.format.table.data());
  const std::byte* at = source.strip;
  float* scales = source.scales;
  float* biases = source.biases;
  const std::int64_t groups = layout.groups();
  std::int64_t span_end = 0;
  for (std::int64_t group = 0; group < groups; ++group) {
    if (group == span_end) {
      span_end += layout.span_groups;
      for (std::int64_t i = 0; i < layout.codes_begin(); i += 64) {
        __builtin_prefetch(at + kPrefetchBytes + i);
      }
      if (row == 0) {
        expand_scales<L>(layout.format.scale, layout.span_groups, at, scales);
        if (biases) {
          expand_scales<L>(layout.format.scale, layout.span_groups, at + layout.scale_bytes,
                           biases);
        }
      }
      at += layout.codes_begin();
    }
    const auto* head = reinterpret_cast<const float*>(x);
    const auto* start = reinterpret_cast<const std::int32_t*>(x) + 2 * M;
    x += 12 * M;
    I dots[M][2];
#pragma GCC unroll 6
    for (int m = 0; m < M; ++m) dots[m][0] = dots[m][1] = L::splat_int(start[m]);
    const auto add = [&](W low, W high) __attribute__((always_inline)) {
#pragma GCC unroll 6
      for (int m = 0; m < M; ++m) {
        const typename L::A a = L::splat_quad(x + 4 * m);
        dots[m][0] = L::dot(dots[m][0], low, a);
        dots[m][1] = L::dot(dots[m][1], high, a);
      }
      x += 4 * M;
    };
#pragma GCC unroll 4
    for (int i = 0; i < G / (HasTable ? 8 : 4); ++i) {
      __builtin_prefetch(at + kPrefetchBytes);
      __builtin_prefetch(at + kPrefetchBytes + 64);
      if constexpr (HasTable) {
        W low[2], high[2];
        L::look_up(at, table, low[0], low[1]);
        L::look_up(at + 64, table, high[0], high[1]);
        add(low[0], high[0]);
        add(low[1], high[1]);
      } else {
        add(L::load_weights(at), L::load_weights(at + 64));
      }
      at += 128;
    }
    const F low = L::load(scales), high = L::load(scales + 16);
#pragma GCC unroll 6
    for (int m = 0; m < M; ++m) {
      const F own = L::splat(head[m]);
      sums[m][0] = L::fma(L::mul(L::to_float(dots[m][0]), own), low, sums[m][0]);
      sums[m][1] = L::fma(L::mul(L::to_float(dots[m][1]), own), high, sums[m][1]);
    }
    scales += kStripOutputs;
    if (biases == nullptr) continue;
    const F low_bias = L::load(biases), high_bias = L::load(biases + 16);
#pragma GCC unroll 6
    for (int m = 0; m < M; ++m) {
      const F weighted = L::splat(head[M + m]);
      sums[m][0] = L::fma(low_bias, weighted, sums[m][0]);
      sums[m][1] = L::fma(high_bias, weighted, sums[m][1]);
    }
    biases += kStripOutputs;
  }
  alignas(64) float results[M][kStripOutputs];
#pragma GCC unroll 6
  for (int m = 0; m < M; ++m) {
    L::store(results[m], sums[m][0]);
    L::store(results[m] + 16, sums[m][1]);
  }
  for (int m = 0; m < M; ++m) finish<L>(task, strip, row + m, results[m]);
}

// Calls the tile with the number of rows as a constant.
template <class L, int G, bool HasTable, int M>
inline void group_rows(std::int64_t rows, const LinearTask& task, std::int64_t strip,
                       const GroupSource& source, const std::byte* x, std::int64_t row) {
  if (rows == M) return group_tile<L, M, G, HasTable>(task, strip, source, x, row);
  if constexpr (M > 1) group_rows<L, G, HasTable, M - 1>(rows, task, strip, source, x, row);
}

template <class L, int G, bool HasTable>
void group_strip(const LinearTask& task, std::int64_t strip, const GroupSource& source) {
  const std::int64_t row_bytes = source.layout.groups() * (G + 12);
  for (std::int64_t row = 0; row < task.x.rows; row += L::kGroupRows) {
    const std::int64_t left = task.x.rows - row;
    group_rows<L, G, HasTable, L::kGroupRows>(left < L::kGroupRows ? left : L::kGroupRows, task,
                                              strip, source, task.x.units + row * row_bytes, row);
  }
}

template <class L>
void linear_grouped(const LinearTask& task) {
  const GroupedStrip& layout = *task.grouped;
  auto* scales = reinterpret_cast<float*>(task.scratch);
  float* biases = layout.format.has_bias ? scales + layout.groups() * kStripOutputs : nullptr;
  const auto run =
      layout.format.group == 16
          ? (layout.format.has_table ? group_strip<L, 16, true> : group_strip<L, 16, false>)
          : (layout.format.has_table ? group_strip<L, 32, true> : group_strip<L, 32, false>);
  for (std::int64_t strip = task.first_strip; strip < task.end_strip; ++strip) {
    run(task, strip, {layout, task.strips + strip * task.strip_bytes, scales, biases});
  }
}

}  // namespace
}  // namespace linnet
