// Rows of activations brought into the order that a linear kernel reads (TiledRows in kernels.h).
#pragma once

#include <cstdint>
#include <cstring>

namespace linnet {

// Where unit `unit` (four bytes) of `row` lies among `rows` rows of `units` units, in units.
inline std::int64_t tiled_unit(std::int64_t row, std::int64_t unit, std::int64_t rows,
                               std::int64_t units, std::int64_t tile_rows) {
  const std::int64_t first = row / tile_rows * tile_rows;
  const std::int64_t in_tile = rows - first < tile_rows ? rows - first : tile_rows;
  return first * units + unit * in_tile + (row - first);
}

// Copies one row of `units` units into its place.
inline void tile_row(const void* from, std::int64_t row, std::int64_t rows, std::int64_t units,
                     std::int64_t tile_rows, std::byte* to) {
  const std::int64_t first = tiled_unit(row, 0, rows, units, tile_rows);
  const std::int64_t stride = tiled_unit(row, 1, rows, units, tile_rows) - first;
  const auto* source = static_cast<const std::byte*>(from);
  if (stride == 1) {
    std::memcpy(to + 4 * first, source, static_cast<std::size_t>(4 * units));
    return;
  }
  for (std::int64_t unit = 0; unit < units; ++unit) {
    std::memcpy(to + 4 * (first + unit * stride), source + 4 * unit, 4);
  }
}

}  // namespace linnet
