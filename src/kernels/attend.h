// Attention of rows over a segment of their context, as a template over lanes. Positions are the
// lanes of the scores and elements of the head the lanes of the mix, so no sum crosses lanes but
// the probabilities'. Blocks come in ascending order with a running maximum (online softmax:
// Milakov and Gimelshein, 2018), each block corrected by e^(old maximum - new maximum).
#pragma once

#include "kernels/activation.h"
#include "kernels/kernels.h"
#include "kernels/numbers.h"
#include "kernels/rows.h"

namespace linnet {
namespace {

// Scores and sums in f32 over blocks of numbers. V vectors are worked on together, so that what is
// splat over the lanes is used V times. Not inlined: each loop needs all registers, and a constant
// of another one kept in a register would push the sums out.
template <class L, int G, class Number>
struct FloatBlocks {
  using F = typename L::F;
  explicit FloatBlocks(std::int64_t of) : dim(of), width(padded_dim(of)) {}

  // Of V units of sixteen positions.
  template <int V>
  [[gnu::noinline]] void score(const AttentionTask& task, const std::byte* block,
                               const std::byte* next, std::int64_t unit, std::int64_t head,
                               float (&scores)[G][kBlockPositions]) const {
    const float* query = task.query + head * dim;
    const auto* key = reinterpret_cast<const Number*>(block) + unit * 16 * dim;
    const auto* ahead = reinterpret_cast<const Number*>(next) + unit * 16 * dim;
    F sums[G][V];
#pragma GCC unroll 16
    for (int i = 0; i < G * V; ++i) sums[i / V][i % V] = L::splat(0.0f);
    for (std::int64_t d = 0; d < dim; ++d) {
      F lanes[V];
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) {
        __builtin_prefetch(ahead + 16 * (v * dim + d));
        lanes[v] = load_numbers<L>(key + 16 * (v * dim + d));
      }
#pragma GCC unroll 4
      for (int g = 0; g < G; ++g) {
        const F q = L::splat(query[g * dim + d]);
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) sums[g][v] = L::fma(q, lanes[v], sums[g][v]);
      }
    }
#pragma GCC unroll 16
    for (int i = 0; i < G * V; ++i) {
      L::store(scores[i / V] + 16 * (unit + i % V),
               L::mul(sums[i / V][i % V], L::splat(task.scale)));
    }
  }

  void prepare(const std::byte*, std::int64_t, std::int64_t, const float (&)[G][kBlockPositions]) {}

  // Of 16 V elements of the heads.
  template <int V>
  [[gnu::noinline]] void mix(const AttentionTask& task, const std::byte* block,
                             const std::byte* next, std::int64_t d, std::int64_t head,
                             std::int64_t low, std::int64_t high,
                             const float (&scores)[G][kBlockPositions],
                             const float (&correction)[G]) const {
    const auto* values = reinterpret_cast<const Number*>(block) + kBlockPositions * dim + d;
    const auto* ahead = reinterpret_cast<const Number*>(next) + kBlockPositions * dim + d;
    float* mixed = task.mixed + head * width + d;
    F sums[G][V];
#pragma GCC unroll 16
    for (int i = 0; i < G * V; ++i) {
      sums[i / V][i % V] =
          L::mul(L::load(mixed + i / V * width + 16 * (i % V)), L::splat(correction[i / V]));
    }
    for (std::int64_t position = low; position < high; ++position) {
      F lanes[V];
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) {
        __builtin_prefetch(ahead + position * width + 16 * v);
        lanes[v] = load_numbers<L>(values + position * width + 16 * v);
      }
#pragma GCC unroll 4
      for (int g = 0; g < G; ++g) {
        const F p = L::splat(scores[g][position]);
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) sums[g][v] = L::fma(p, lanes[v], sums[g][v]);
      }
    }
#pragma GCC unroll 16
    for (int i = 0; i < G * V; ++i) {
      L::store(mixed + i / V * width + 16 * (i % V), sums[i / V][i % V]);
    }
  }

  std::int64_t dim, width;
};
template <class L, int G>
using F32Blocks = FloatBlocks<L, G, float>;
template <class L, int G>
using F16Blocks = FloatBlocks<L, G, F16>;

// Over int8 blocks: queries are int8 too, so a score is one exact integer; the probabilities of a
// block, each times its value's scale, become 16-bit integers whose largest is 32767.
template <class L, int G>
struct ByteBlocks {
  using F = typename L::F;
  using I = typename L::I;
  explicit ByteBlocks(std::int64_t dim) : width(padded_dim(dim)), layout(CacheFormat::i8, dim) {}

  template <int V>
  [[gnu::noinline]] void score(const AttentionTask& task, const std::byte* block,
                               const std::byte* next, std::int64_t unit, std::int64_t head,
                               float (&scores)[G][kBlockPositions]) const {
    const std::byte* keys = block + unit * 16 * width;
    const std::byte* ahead = next + unit * 16 * width;
    const auto* query = reinterpret_cast<const std::byte*>(task.codes + head * width);
    I sums[G][V];
#pragma GCC unroll 16
    for (int i = 0; i < G * V; ++i) {
      sums[i / V][i % V] = L::splat_int(-L::kZero * task.code_sum[head + i / V]);
    }
    for (std::int64_t d = 0; d < width; d += 4) {
      typename L::W lanes[V];
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) {
        __builtin_prefetch(ahead + 16 * (v * width + d));
        lanes[v] = L::load_weights(keys + 16 * (v * width + d));
      }
#pragma GCC unroll 4
      for (int g = 0; g < G; ++g) {
        const typename L::A q = L::splat_quad(query + g * width + d);
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) sums[g][v] = L::dot(sums[g][v], lanes[v], q);
      }
    }
    const auto* scales = reinterpret_cast<const float*>(block + layout.key_scales()) + 16 * unit;
#pragma GCC unroll 16
    for (int i = 0; i < G * V; ++i) {
      const int g = i / V, v = i % V;
      const F scale = L::splat(task.code_scale[head + g] * task.scale);
      L::store(scores[g] + 16 * (unit + v),
               L::mul(L::mul(L::to_float(sums[g][v]), L::load(scales + 16 * v)), scale));
    }
  }

  void prepare(const std::byte* block, std::int64_t low, std::int64_t high,
               const float (&scores)[G][kBlockPositions]) {
    const auto* scales = reinterpret_cast<const float*>(block + layout.value_scales());
    for (int g = 0; g < G; ++g) step[g] = quantize(scores[g], scales, low, high, codes[g]);
  }

  template <int V>
  [[gnu::noinline]] void mix(const AttentionTask& task, const std::byte* block,
                             const std::byte* next, std::int64_t d, std::int64_t head,
                             std::int64_t low, std::int64_t high,
                             const float (&)[G][kBlockPositions],
                             const float (&correction)[G]) const {
    const std::byte* values = block + layout.values() + 2 * d;
    const std::byte* ahead = next + layout.values() + 2 * d;
    I sums[G][V];
#pragma GCC unroll 16
    for (int i = 0; i < G * V; ++i) sums[i / V][i % V] = L::splat_int(0);
    for (std::int64_t pair = low / 2; 2 * pair < high; ++pair) {
      typename L::P lanes[V];
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) {
        if (v % 2 == 0) __builtin_prefetch(ahead + pair * 2 * width + 32 * v);
        lanes[v] = L::load_pairs(values + pair * 2 * width + 32 * v);
      }
#pragma GCC unroll 4
      for (int g = 0; g < G; ++g) {
        const typename L::Q both = L::splat_pair(codes[g] + 2 * pair);
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) sums[g][v] = L::dot_pairs(sums[g][v], lanes[v], both);
      }
    }
    float* mixed = task.mixed + head * width + d;
#pragma GCC unroll 16
    for (int i = 0; i < G * V; ++i) {
      float* at = mixed + i / V * width + 16 * (i % V);
      const F past = L::mul(L::load(at), L::splat(correction[i / V]));
      L::store(at, L::fma(L::to_float(sums[i / V][i % V]), L::splat(step[i / V]), past));
    }
  }

  // Probabilities times the values' scales, as multiples of the step that is returned. Positions
  // outside of [low, high) have probability zero, but anything may stand in their scales.
  static float quantize(const float* scores, const float* scales, std::int64_t low,
                        std::int64_t high, std::int16_t* codes) {
    alignas(64) float kept[kBlockPositions] = {};
    if (low > 0 || high < kBlockPositions) {
      for (std::int64_t i = low; i < high; ++i) kept[i] = scales[i];
      scales = kept;
    }
    F products[4];
#pragma GCC unroll 4
    for (int u = 0; u < 4; ++u) {
      products[u] = L::mul(L::load(scores + 16 * u), L::load(scales + 16 * u));
    }
    const float largest =
        max_across<L>(L::max(L::max(products[0], products[1]), L::max(products[2], products[3])));
    const F factor = L::splat(largest > 1e-30f ? 32767.0f / largest : 0.0f);
    alignas(64) std::int32_t rounded[kBlockPositions];
#pragma GCC unroll 4
    for (int u = 0; u < 4; ++u) {
      L::store_int(rounded + 16 * u, L::to_int(L::mul(products[u], factor)));
    }
    for (int i = 0; i < kBlockPositions; ++i) codes[i] = static_cast<std::int16_t>(rounded[i]);
    return largest / 32767.0f;
  }

  std::int64_t width;
  HeadBlock layout;
  alignas(64) std::int16_t codes[G][kBlockPositions];  // of the block's probabilities
  float step[G];
};

// What one row has gathered so far, for G of its query heads.
template <class L, int G>
struct Gathered {
  float largest[G];
  typename L::F sum[G];
};

// G query heads together: each key and value is read once for all of them. Rows come in turns for
// every block, so that it is read from afar once for all rows.
template <class L, int G, template <class, int> class Blocks>
struct HeadGroup {
  using F = typename L::F;
  Blocks<L, G> blocks;
  std::int64_t head;  // the first of them
  alignas(64) float scores[G][kBlockPositions] = {};

  void begin(const AttentionTask& task, Gathered<L, G>& past) const {
    const std::int64_t width = padded_dim(task.dim);
    for (int g = 0; g < G; ++g) {
      past.largest[g] = -__builtin_inff();
      past.sum[g] = L::splat(0.0f);
      float* mixed = task.mixed + (head + g) * width;
      for (std::int64_t i = 0; i < width; ++i) mixed[i] = 0.0f;
    }
  }

  // Positions [low, high) of the block; `next` is the one that comes after it, to be fetched now.
  void add(const AttentionTask& task, const std::byte* block, const std::byte* next,
           std::int64_t low, std::int64_t high, Gathered<L, G>& past) {
    constexpr int kVectors = L::kAttendVectors;
    std::int64_t unit = low / 16;
    for (; (unit + kVectors) * 16 <= high; unit += kVectors) {
      blocks.template score<kVectors>(task, block, next, unit, head, scores);
    }
    for (; unit * 16 < high; ++unit) {
      blocks.template score<1>(task, block, next, unit, head, scores);
    }
    float correction[G];
    softmax(low, high, past, correction);
    blocks.prepare(block, low, high, scores);
    const std::int64_t width = padded_dim(task.dim);
    std::int64_t d = 0;
    for (; d + 16 * kVectors <= width; d += 16 * kVectors) {
      blocks.template mix<kVectors>(task, block, next, d, head, low, high, scores, correction);
    }
    for (; d < width; d += 16) {
      blocks.template mix<1>(task, block, next, d, head, low, high, scores, correction);
    }
  }

  // Turns the scores of all heads into probabilities that are not normalized, and tells how much
  // smaller the past has become.
  [[gnu::noinline]] void softmax(std::int64_t low, std::int64_t high, Gathered<L, G>& past,
                                 float (&correction)[G]) {
    const bool is_part = low > 0 || high < kBlockPositions;
    for (int g = 0; g < G && is_part; ++g) fill_outside(scores[g], low, high, -__builtin_inff());
    // One vector of exponentials for the corrections of all heads.
    float shrink[16] = {};
    float now[G];
    for (int g = 0; g < G; ++g) {
      const float* score = scores[g];
      const F halves[2] = {L::max(L::load(score), L::load(score + 16)),
                           L::max(L::load(score + 32), L::load(score + 48))};
      now[g] = max_across<L>(L::max(L::splat(past.largest[g]), L::max(halves[0], halves[1])));
      if (now[g] == -__builtin_inff()) now[g] = 0.0f;
      shrink[g] = past.largest[g] - now[g];
      past.largest[g] = now[g];
    }
    L::store(shrink, exponential<L>(L::load(shrink)));
    for (int g = 0; g < G; ++g) {
      correction[g] = shrink[g];
      F part[4];
#pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) {
        part[u] = exponential<L>(L::sub(L::load(scores[g] + 16 * u), L::splat(now[g])));
        L::store(scores[g] + 16 * u, part[u]);
      }
      if (is_part) {
        fill_outside(scores[g], low, high, 0.0f);
#pragma GCC unroll 4
        for (int u = 0; u < 4; ++u) part[u] = L::load(scores[g] + 16 * u);
      }
      const F block_sum = L::add(L::add(part[0], part[1]), L::add(part[2], part[3]));
      past.sum[g] = L::fma(past.sum[g], L::splat(correction[g]), block_sum);
    }
  }

  static void fill_outside(float (&score)[kBlockPositions], std::int64_t low, std::int64_t high,
                           float value) {
    for (std::int64_t i = 0; i < low; ++i) score[i] = value;
    for (std::int64_t i = high; i < kBlockPositions; ++i) score[i] = value;
  }

  void end(const AttentionTask& task, const Gathered<L, G>& past) const {
    for (int g = 0; g < G; ++g) {
      task.largest[head + g] = past.largest[g];
      task.sum[head + g] = tree_sum<L>(past.sum[g]);
    }
  }
};

constexpr std::int64_t kRowsTogether = 8;

template <class L, int G, template <class, int> class Blocks>
inline void attend_group(std::span<const AttentionTask> rows, std::int64_t head) {
  HeadGroup<L, G, Blocks> group{Blocks<L, G>(rows[0].dim), head};
  Gathered<L, G> past[kRowsTogether];
  std::int64_t first = rows[0].first, end = rows[0].end;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    group.begin(rows[r], past[r]);
    first = rows[r].first < first ? rows[r].first : first;
    end = rows[r].end > end ? rows[r].end : end;
  }
  for (std::int64_t block = first / kBlockPositions; block * kBlockPositions < end; ++block) {
    const std::int64_t start = block * kBlockPositions;
    const std::byte* bytes = rows[0].blocks[block];
    // The first row fetches the next block; the others would only ask again.
    const std::byte* next = start + kBlockPositions < end ? rows[0].blocks[block + 1] : bytes;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const std::int64_t low = rows[r].first > start ? rows[r].first - start : 0;
      const std::int64_t left = rows[r].end - start;
      const std::int64_t high = left < kBlockPositions ? left : kBlockPositions;
      if (low < high) group.add(rows[r], bytes, r == 0 ? next : bytes, low, high, past[r]);
    }
  }
  for (std::size_t r = 0; r < rows.size(); ++r) group.end(rows[r], past[r]);
}

template <class L, template <class, int> class Blocks>
void attend_segment(std::span<const AttentionTask> rows) {
  while (!rows.empty()) {
    const std::size_t count = rows.size() < kRowsTogether ? rows.size() : kRowsTogether;
    const std::span<const AttentionTask> some = rows.first(count);
    rows = rows.subspan(count);
    std::int64_t head = 0;
    for (; head + 4 <= some[0].heads; head += 4) attend_group<L, 4, Blocks>(some, head);
    switch (some[0].heads - head) {
      case 3:
        attend_group<L, 3, Blocks>(some, head);
        break;
      case 2:
        attend_group<L, 2, Blocks>(some, head);
        break;
      case 1:
        attend_group<L, 1, Blocks>(some, head);
        break;
      default:
        break;
    }
  }
}

}  // namespace
}  // namespace linnet
