// Attention of one row over a segment of its context, as a template over lanes. Positions are the
// lanes of the scores and elements of the head the lanes of the mix, so no sum crosses lanes but
// the probabilities'. Blocks come in ascending order with a running maximum (online softmax:
// Milakov and Gimelshein, 2018), each block corrected by e^(old maximum - new maximum).
#pragma once

#include "kernels/activation.h"
#include "kernels/kernels.h"
#include "kernels/rows.h"

namespace linnet {
namespace {

// G query heads together: each key and value is read once for all of them.
template <class L, int G>
struct HeadGroup {
  using F = typename L::F;
  const AttentionTask& task;
  std::int64_t head;  // the first of them
  float largest[G];
  F sum[G];
  alignas(64) float scores[G][kBlockPositions] = {};

  void begin() {
    const std::int64_t width = padded_dim(task.dim);
    for (int g = 0; g < G; ++g) {
      largest[g] = -__builtin_inff();
      sum[g] = L::splat(0.0f);
      float* mixed = task.mixed + (head + g) * width;
      for (std::int64_t i = 0; i < width; ++i) mixed[i] = 0.0f;
    }
  }

  // Positions [low, high) of the block.
  void block(const float* keys, std::int64_t low, std::int64_t high) {
    for (std::int64_t unit = low / 16; unit * 16 < high; ++unit) score(keys, unit);
    float correction[G];
    for (int g = 0; g < G; ++g) correction[g] = softmax(g, low, high);
    mix(keys + kBlockPositions * task.dim, low, high, correction);
  }

  void score(const float* keys, std::int64_t unit) {
    const float* query = task.query + head * task.dim;
    const float* key = keys + unit * 16 * task.dim;
    F sums[G];
#pragma GCC unroll 4
    for (int g = 0; g < G; ++g) sums[g] = L::splat(0.0f);
    for (std::int64_t d = 0; d < task.dim; ++d) {
      const F lane = L::load(key + 16 * d);
#pragma GCC unroll 4
      for (int g = 0; g < G; ++g) {
        sums[g] = L::fma(L::splat(query[g * task.dim + d]), lane, sums[g]);
      }
    }
#pragma GCC unroll 4
    for (int g = 0; g < G; ++g) {
      L::store(scores[g] + 16 * unit, L::mul(sums[g], L::splat(task.scale)));
    }
  }

  // Turns scores into probabilities that are not normalized; returns the correction of the past.
  float softmax(int g, std::int64_t low, std::int64_t high) {
    float* score = scores[g];
    float now = largest[g];
    for (std::int64_t i = low; i < high; ++i) now = score[i] > now ? score[i] : now;
    if (now == -__builtin_inff()) now = 0.0f;
    float lanes[16];
    L::store(lanes, exponential<L>(L::splat(largest[g] - now)));
    largest[g] = now;
    F part[4];
    for (int u = 0; u < 4; ++u) {
      L::store(score + 16 * u, exponential<L>(L::sub(L::load(score + 16 * u), L::splat(now))));
    }
    for (std::int64_t i = 0; i < low; ++i) score[i] = 0.0f;
    for (std::int64_t i = high; i < kBlockPositions; ++i) score[i] = 0.0f;
    for (int u = 0; u < 4; ++u) part[u] = L::load(score + 16 * u);
    const F block_sum = L::add(L::add(part[0], part[1]), L::add(part[2], part[3]));
    sum[g] = L::fma(sum[g], L::splat(lanes[0]), block_sum);
    return lanes[0];
  }

  void mix(const float* values, std::int64_t low, std::int64_t high, const float* correction) {
    const std::int64_t width = padded_dim(task.dim);
    for (std::int64_t d = 0; d < width; d += 16) {
      F sums[G];
#pragma GCC unroll 4
      for (int g = 0; g < G; ++g) {
        const float* mixed = task.mixed + (head + g) * width + d;
        sums[g] = L::mul(L::load(mixed), L::splat(correction[g]));
      }
      for (std::int64_t i = low; i < high; ++i) {
        const F lane = L::load(values + i * width + d);
#pragma GCC unroll 4
        for (int g = 0; g < G; ++g) sums[g] = L::fma(L::splat(scores[g][i]), lane, sums[g]);
      }
#pragma GCC unroll 4
      for (int g = 0; g < G; ++g) L::store(task.mixed + (head + g) * width + d, sums[g]);
    }
  }

  void end() {
    for (int g = 0; g < G; ++g) {
      task.largest[head + g] = largest[g];
      task.sum[head + g] = tree_sum<L>(sum[g]);
    }
  }
};

template <class L, int G>
inline void attend_group(const AttentionTask& task, std::int64_t head) {
  HeadGroup<L, G> group{task, head, {}, {}};
  group.begin();
  for (std::int64_t block = task.first / kBlockPositions; block * kBlockPositions < task.end;
       ++block) {
    const std::int64_t start = block * kBlockPositions;
    const std::int64_t low = task.first > start ? task.first - start : 0;
    const std::int64_t high =
        task.end - start < kBlockPositions ? task.end - start : kBlockPositions;
    group.block(task.blocks[block], low, high);
  }
  group.end();
}

template <class L>
void attend_segment(const AttentionTask& task) {
  std::int64_t head = 0;
  for (; head + 4 <= task.heads; head += 4) attend_group<L, 4>(task, head);
  switch (task.heads - head) {
    case 3:
      return attend_group<L, 3>(task, head);
    case 2:
      return attend_group<L, 2>(task, head);
    case 1:
      return attend_group<L, 1>(task, head);
    default:
      return;
  }
}

}  // namespace
}  // namespace linnet
