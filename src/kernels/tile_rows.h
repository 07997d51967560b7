// Rows of activations brought into the order that a linear kernel reads (TiledRows in kernels.h).
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/kernels.h"

namespace linnet {

template <std::int64_t kBytes>
inline void spread_units(const std::byte* from, std::int64_t bytes, std::int64_t rows,
                         std::byte* to) {
  for (std::int64_t at = 0; at < bytes; at += kBytes, to += kBytes * rows) {
    std::memcpy(to, from + at, static_cast<std::size_t>(kBytes));
  }
}

// Copies one of `rows` rows, `bytes` long, into its place. `bytes` is a multiple of the unit.
inline void tile_row(const void* from, std::int64_t row, std::int64_t rows, std::int64_t bytes,
                     const RowTiling& tiling, std::byte* to) {
  const std::int64_t first = row / tiling.rows * tiling.rows;
  const std::int64_t in_tile = rows - first < tiling.rows ? rows - first : tiling.rows;
  const auto* source = static_cast<const std::byte*>(from);
  to += first * bytes;
  if (in_tile == 1) {
    std::memcpy(to, source, static_cast<std::size_t>(bytes));
    return;
  }
  to += (row - first) * tiling.unit_bytes;
  if (tiling.unit_bytes == 4) return spread_units<4>(source, bytes, in_tile, to);
  spread_units<kRowBlock.unit_bytes>(source, bytes, in_tile, to);
}

}  // namespace linnet
