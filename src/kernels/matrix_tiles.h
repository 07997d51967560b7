// Linears over int8 in matrix tiles of 16 rows by 64 bytes, as a template over lanes and over
// Tiles: the processor's (amx.cpp), or plain C++ for tests. Sums are exact integers, so the bits
// are those of the other kernels. A Tiles has
//   configure(m0, m1)      rows of the first and the second sixteen activations; m1 may be 0
//   zero<C>()              sums C = 2 * half of the rows + half of the strip: 0 to 3
//   load_sums<C>(at), store_sums<C>(at)     [rows][32] int32, `at` where the tile begins
//   load_rows<R>(at)       activations, [rows][64] int8; R = 0, 1
//   load_weights<W>(at)    [16][2][64]: half W = 0, 1 of 64 inputs of a strip of bytes
//   multiply<C>()          C += activations C / 2 times weights C % 2
#pragma once

#include "kernels/linear.h"
#include "kernels/s6.h"

namespace linnet {
namespace {

inline constexpr std::int64_t kTileRows = kRowBlock.rows;
inline constexpr std::int64_t kTileInputs = kRowBlock.unit_bytes;
// The weights of so many inputs stay in the first cache while so many rows, with their sums, pass.
inline constexpr std::int64_t kTileDepth = 512;
inline constexpr std::int64_t kTileChunk = 128;
// From so many rows on tiles are worth it.
inline constexpr std::int64_t kTiledFrom = 8;

template <class Tiles, bool kTwo>
inline void multiply_tiles(Tiles& tiles, const std::byte* weights, const std::byte* x0,
                           const std::byte* x1, std::int64_t m0, std::int64_t m1,
                           std::int64_t depth) {
  for (std::int64_t k = 0; k < depth; k += kTileInputs) {
    tiles.template load_weights<0>(weights + k * kStripOutputs);
    tiles.template load_weights<1>(weights + k * kStripOutputs + 64);
    tiles.template load_rows<0>(x0 + k * m0);
    tiles.template multiply<0>();
    tiles.template multiply<1>();
    if constexpr (kTwo) {
      tiles.template load_rows<1>(x1 + k * m1);
      tiles.template multiply<2>();
      tiles.template multiply<3>();
    }
  }
}

// Adds the products of inputs [k, k + depth) of up to 32 rows, of m0 and m1, to their sums.
template <class Tiles>
inline void add_products(Tiles& tiles, const LinearTask& task, const std::byte* weights,
                         std::int64_t row, std::int64_t k, std::int32_t* sums) {
  const auto rows_at = [&](std::int64_t first) {
    const std::int64_t left = task.x.rows - first;
    return left < 0 ? 0 : left < kTileRows ? left : kTileRows;
  };
  const std::int64_t m0 = rows_at(row), m1 = rows_at(row + kTileRows);
  const std::int64_t left = task.inputs - k, depth = left < kTileDepth ? left : kTileDepth;
  const std::byte* x0 = task.x.units + row * task.inputs + k * m0;
  const std::byte* x1 = task.x.units + (row + kTileRows) * task.inputs + k * m1;
  std::int32_t* second = sums + kTileRows * kStripOutputs;
  tiles.configure(m0, m1);
  if (k == 0) {
    tiles.template zero<0>();
    tiles.template zero<1>();
    tiles.template zero<2>();
    tiles.template zero<3>();
  } else {
    tiles.template load_sums<0>(sums);
    tiles.template load_sums<1>(sums + 16);
    if (m1 > 0) {
      tiles.template load_sums<2>(second);
      tiles.template load_sums<3>(second + 16);
    }
  }
  weights += k * kStripOutputs;
  if (m1 > 0) {
    multiply_tiles<Tiles, true>(tiles, weights, x0, x1, m0, m1, depth);
    tiles.template store_sums<2>(second);
    tiles.template store_sums<3>(second + 16);
  } else {
    multiply_tiles<Tiles, false>(tiles, weights, x0, x1, m0, m1, depth);
  }
  tiles.template store_sums<0>(sums);
  tiles.template store_sums<1>(sums + 16);
}

template <class L>
inline void finish_sums(const LinearTask& task, std::int64_t strip, std::int64_t row,
                        const std::int32_t* sums, const float* scales) {
  // Weights are kept 128 too large.
  const typename L::I zero = L::splat_int(-128 * task.x.sum[row]);
  const typename L::F scale = L::splat(task.x.scale[row]);
  alignas(64) float result[kStripOutputs];
  for (int half = 0; half < 2; ++half) {
    const typename L::I sum = L::add_int(L::load_int(sums + 16 * half), zero);
    L::store(result + 16 * half,
             L::mul(L::mul(L::to_float(sum), L::load(scales + 16 * half)), scale));
  }
  finish<L>(task, strip, row, result);
}

// All rows of the task on one strip of bytes.
template <class L, class Tiles>
inline void tile_strip(Tiles& tiles, const LinearTask& task, std::int64_t strip,
                       const std::byte* weights, const float* scales) {
  alignas(64) std::int32_t sums[kTileChunk * kStripOutputs];
  for (std::int64_t first = 0; first < task.x.rows; first += kTileChunk) {
    const std::int64_t left = task.x.rows - first;
    const std::int64_t rows = left < kTileChunk ? left : kTileChunk;
    for (std::int64_t k = 0; k < task.inputs; k += kTileDepth) {
      for (std::int64_t row = 0; row < rows; row += 2 * kTileRows) {
        add_products(tiles, task, weights, first + row, k, sums + row * kStripOutputs);
      }
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      finish_sums<L>(task, strip, first + row, sums + row * kStripOutputs, scales);
    }
  }
}

template <class L, class Tiles>
void tiled_i8(const LinearTask& task) {
  if (task.x.rows < kTiledFrom) return linear_i8<L>(task);
  Tiles tiles;
  for (std::int64_t strip = task.first_strip; strip < task.end_strip; ++strip) {
    const std::byte* weights = task.strips + strip * task.strip_bytes;
    tile_strip<L>(tiles, task, strip, weights, strip_scales(task, weights));
  }
}

// Codes that are widened to a strip of bytes first.
template <class L, class Tiles, auto kWiden, auto kFewRows>
void tiled_codes(const LinearTask& task) {
  if (task.x.rows < kTiledFrom) return kFewRows(task);
  Tiles tiles;
  for (std::int64_t strip = task.first_strip; strip < task.end_strip; ++strip) {
    const std::byte* weights = task.strips + strip * task.strip_bytes;
    kWiden(weights, task.inputs, task.scratch);
    tile_strip<L>(tiles, task, strip, task.scratch, strip_scales(task, weights));
  }
}

// A table whose linears over I8, N4 and S6 take matrix tiles where there are rows enough.
template <class L, class Tiles>
constexpr Kernels with_tiles(Kernels table) {
  table.blocks_from = kTiledFrom;
  table.linear_i8 = tiled_i8<L, Tiles>;
  table.linear_n4 = tiled_codes<L, Tiles, widen_strip<L>, linear_n4<L>>;
  table.linear_s6 = tiled_codes<L, Tiles, widen_s6<L>, linear_s6<L>>;
  return table;
}

}  // namespace
}  // namespace linnet
