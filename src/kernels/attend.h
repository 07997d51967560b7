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

// Scores and sums over f32 blocks.
template <class L, int G>
struct FloatBlocks {
  using F = typename L::F;
  explicit FloatBlocks(const AttentionTask& of)
      : dim(of.dim), width(padded_dim(of.dim)), task(of) {}

  [[gnu::always_inline]] inline void score(const std::byte* block, std::int64_t unit,
                                           std::int64_t head,
                                           float (&scores)[G][kBlockPositions]) const {
    const float* query = task.query + head * dim;
    const float* key = reinterpret_cast<const float*>(block) + unit * 16 * dim;
    F sums[G];
#pragma GCC unroll 4
    for (int g = 0; g < G; ++g) sums[g] = L::splat(0.0f);
    for (std::int64_t d = 0; d < dim; ++d) {
      const F lane = L::load(key + 16 * d);
#pragma GCC unroll 4
      for (int g = 0; g < G; ++g) sums[g] = L::fma(L::splat(query[g * dim + d]), lane, sums[g]);
    }
#pragma GCC unroll 4
    for (int g = 0; g < G; ++g) {
      L::store(scores[g] + 16 * unit, L::mul(sums[g], L::splat(task.scale)));
    }
  }

  [[gnu::always_inline]] inline void mix(const std::byte* block, std::int64_t head,
                                         std::int64_t low, std::int64_t high,
                                         const float (&scores)[G][kBlockPositions],
                                         const float (&correction)[G]) const {
    const float* values = reinterpret_cast<const float*>(block) + kBlockPositions * dim;
    for (std::int64_t d = 0; d < width; d += 16) {
      F sums[G];
#pragma GCC unroll 4
      for (int g = 0; g < G; ++g) {
        sums[g] = L::mul(L::load(task.mixed + (head + g) * width + d), L::splat(correction[g]));
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

  std::int64_t dim, width;
  const AttentionTask& task;
};

// Over int8 blocks: queries are int8 too, so a score is one exact integer; the probabilities of a
// block, each times its value's scale, become 16-bit integers whose largest is 32767.
template <class L, int G>
struct ByteBlocks {
  using F = typename L::F;
  using I = typename L::I;
  explicit ByteBlocks(const AttentionTask& of)
      : width(padded_dim(of.dim)), layout(CacheFormat::i8, of.dim), task(of) {}

  [[gnu::always_inline]] inline void score(const std::byte* block, std::int64_t unit,
                                           std::int64_t head,
                                           float (&scores)[G][kBlockPositions]) const {
    const std::byte* keys = block + unit * 16 * width;
    const auto* codes = reinterpret_cast<const std::byte*>(task.codes + head * width);
    I sums[G];
#pragma GCC unroll 4
    for (int g = 0; g < G; ++g) sums[g] = L::splat_int(-L::kZero * task.code_sum[head + g]);
    for (std::int64_t d = 0; d < width; d += 4) {
      const typename L::W lane = L::load_weights(keys + 16 * d);
#pragma GCC unroll 4
      for (int g = 0; g < G; ++g) {
        sums[g] = L::dot(sums[g], lane, L::splat_quad(codes + g * width + d));
      }
    }
    const F scales =
        L::load(reinterpret_cast<const float*>(block + layout.key_scales()) + 16 * unit);
#pragma GCC unroll 4
    for (int g = 0; g < G; ++g) {
      const F scale = L::splat(task.code_scale[head + g] * task.scale);
      L::store(scores[g] + 16 * unit, L::mul(L::mul(L::to_float(sums[g]), scales), scale));
    }
  }

  [[gnu::always_inline]] inline void mix(const std::byte* block, std::int64_t head,
                                         std::int64_t low, std::int64_t high,
                                         const float (&scores)[G][kBlockPositions],
                                         const float (&correction)[G]) const {
    const auto* scales = reinterpret_cast<const float*>(block + layout.value_scales());
    alignas(64) std::int16_t codes[G][kBlockPositions] = {};
    float step[G];
    for (int g = 0; g < G; ++g) step[g] = quantize(scores[g], scales, low, high, codes[g]);
    const std::byte* values = block + layout.values();
    for (std::int64_t d = 0; d < width; d += 16) {
      I sums[G];
#pragma GCC unroll 4
      for (int g = 0; g < G; ++g) sums[g] = L::splat_int(0);
      for (std::int64_t pair = low / 2; 2 * pair < high; ++pair) {
        const typename L::P lane = L::load_pairs(values + pair * 2 * width + 2 * d);
#pragma GCC unroll 4
        for (int g = 0; g < G; ++g) sums[g] = L::dot_pairs(sums[g], lane, codes[g] + 2 * pair);
      }
#pragma GCC unroll 4
      for (int g = 0; g < G; ++g) {
        float* mixed = task.mixed + (head + g) * width + d;
        const F past = L::mul(L::load(mixed), L::splat(correction[g]));
        L::store(mixed, L::fma(L::to_float(sums[g]), L::splat(step[g]), past));
      }
    }
  }

  // Probabilities times the values' scales, as multiples of the step that is returned.
  static float quantize(const float* scores, const float* scales, std::int64_t low,
                        std::int64_t high, std::int16_t* codes) {
    alignas(64) float products[kBlockPositions] = {};
    for (std::int64_t i = low; i < high; ++i) products[i] = scores[i] * scales[i];
    float largest = 0;
    for (const float product : products) largest = product > largest ? product : largest;
    const float factor = largest > 1e-30f ? 32767.0f / largest : 0.0f;
    alignas(64) std::int32_t rounded[kBlockPositions];
    for (int i = 0; i < kBlockPositions; i += 16) {
      L::store_int(rounded + i, L::to_int(L::mul(L::load(products + i), L::splat(factor))));
    }
    for (int i = 0; i < kBlockPositions; ++i) codes[i] = static_cast<std::int16_t>(rounded[i]);
    return largest / 32767.0f;
  }

  std::int64_t width;
  HeadBlock layout;
  const AttentionTask& task;
};

// G query heads together: each key and value is read once for all of them.
template <class L, int G, template <class, int> class Blocks>
struct HeadGroup {
  using F = typename L::F;
  const AttentionTask& task;
  std::int64_t head;  // the first of them
  Blocks<L, G> blocks;
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
  void add(const std::byte* block, std::int64_t low, std::int64_t high) {
    for (std::int64_t unit = low / 16; unit * 16 < high; ++unit) {
      blocks.score(block, unit, head, scores);
    }
    float correction[G];
    for (int g = 0; g < G; ++g) correction[g] = softmax(g, low, high);
    blocks.mix(block, head, low, high, scores, correction);
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

  void end() {
    for (int g = 0; g < G; ++g) {
      task.largest[head + g] = largest[g];
      task.sum[head + g] = tree_sum<L>(sum[g]);
    }
  }
};

template <class L, int G, template <class, int> class Blocks>
inline void attend_group(const AttentionTask& task, std::int64_t head) {
  HeadGroup<L, G, Blocks> group{task, head, Blocks<L, G>(task), {}, {}};
  group.begin();
  for (std::int64_t block = task.first / kBlockPositions; block * kBlockPositions < task.end;
       ++block) {
    const std::int64_t start = block * kBlockPositions;
    const std::int64_t low = task.first > start ? task.first - start : 0;
    const std::int64_t high =
        task.end - start < kBlockPositions ? task.end - start : kBlockPositions;
    group.add(task.blocks[block], low, high);
  }
  group.end();
}

template <class L, template <class, int> class Blocks>
void attend_segment(const AttentionTask& task) {
  std::int64_t head = 0;
  for (; head + 4 <= task.heads; head += 4) attend_group<L, 4, Blocks>(task, head);
  switch (task.heads - head) {
    case 3:
      return attend_group<L, 3, Blocks>(task, head);
    case 2:
      return attend_group<L, 2, Blocks>(task, head);
    case 1:
      return attend_group<L, 1, Blocks>(task, head);
    default:
      return;
  }
}

}  // namespace
}  // namespace linnet
