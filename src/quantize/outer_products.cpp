#include "quantize/outer_products.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "kernels/packed_matrix.h"
#include "tensor/functions.h"

namespace linnet {
namespace {

constexpr std::int64_t kPanelRows = 480;      // of the result; a multiple of every tile
constexpr std::int64_t kFactorColumns = 128;  // factored at once

std::uint64_t float_bytes(std::int64_t count) {
  return static_cast<std::uint64_t>(count) * sizeof(float);
}

// Columns [first, first + 32) of a as a strip: [a.rows][32], zeros beyond the last column.
void fill_strip(const FloatRows& a, std::int64_t first, float factor, float* out) {
  const std::int64_t count = std::min(kStripOutputs, a.columns - first);
  for (std::int64_t t = 0; t < a.rows; ++t, out += kStripOutputs) {
    const float* from = a.data + t * a.stride + first;
    for (std::int64_t j = 0; j < count; ++j) out[j] = factor * from[j];
    std::fill(out + count, out + kStripOutputs, 0.0f);
  }
}

// Columns [first, first + count) of a as rows in tiles: [a.rows][rows of the tile] each.
void fill_tiles(const FloatRows& a, std::int64_t first, std::int64_t count, std::int64_t tile_rows,
                float* out) {
  for (std::int64_t done = 0; done < count; done += tile_rows) {
    const std::int64_t rows = std::min(tile_rows, count - done);
    for (std::int64_t t = 0; t < a.rows; ++t, out += rows) {
      std::copy_n(a.data + t * a.stride + first + done, rows, out);
    }
  }
}

// R of one block on the diagonal, from its last column to its first.
bool factor_block(float* h, std::int64_t stride, std::int64_t size) {
  for (std::int64_t k = size - 1; k >= 0; --k) {
    for (std::int64_t i = k; i >= 0; --i) {
      double sum = static_cast<double>(h[i * stride + k]);
      for (std::int64_t c = k + 1; c < size; ++c) {
        sum -= static_cast<double>(h[i * stride + c]) * static_cast<double>(h[k * stride + c]);
      }
      if (i == k && !(sum > 0)) return false;
      const float root = i == k ? 1.0f : h[k * stride + k];
      h[i * stride + k] =
          i == k ? static_cast<float>(std::sqrt(sum)) : static_cast<float>(sum) / root;
    }
  }
  return true;
}

// Solves x R^T = row for one row of the panel above a factored block, in place.
void solve_row(const float* block, std::int64_t stride, std::int64_t size, float* row) {
  for (std::int64_t d = size - 1; d >= 0; --d) {
    const float* r = block + d * stride;
    row[d] = (row[d] - dot(row + d + 1, r + d + 1, size - d - 1)) / r[d];
  }
}

}  // namespace

void add_gram(const FloatRows& a, float factor, float* c, std::int64_t stride, ThreadPool& pool) {
  const Kernels& kernels = choose_kernels();
  const std::int64_t strips = (a.columns + kStripOutputs - 1) / kStripOutputs;
  const std::int64_t strip_floats = a.rows * kStripOutputs;
  Buffer packed(float_bytes(strips * strip_floats), MemoryAccount::scratch());
  Buffer tiles(float_bytes(a.rows * std::min(kPanelRows, a.columns)), MemoryAccount::scratch());
  float* strip_data = packed.as<float>().data();
  pool.parallel_for(strips, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t s = begin; s < end; ++s) {
      fill_strip(a, s * kStripOutputs, factor, strip_data + s * strip_floats);
    }
  });
  for (std::int64_t first = 0; first < a.columns; first += kPanelRows) {
    const std::int64_t count = std::min(kPanelRows, a.columns - first);
    fill_tiles(a, first, count, row_tiling(kernels, PackedFormat::f32, count).rows,
               tiles.as<float>().data());
    LinearTask task;
    task.strips = packed.data();
    task.strip_bytes = strip_floats * static_cast<std::int64_t>(sizeof(float));
    task.inputs = a.rows;
    task.x.units = tiles.data();
    task.x.rows = count;
    task.out = c + first * stride;
    task.out_stride = stride;
    task.outputs = a.columns;
    task.epilogue = Epilogue::add;
    const std::int64_t skipped = first / kStripOutputs;  // below the diagonal
    pool.parallel_for(strips - skipped, 1, [&](std::int64_t begin, std::int64_t end) {
      LinearTask piece = task;
      piece.first_strip = skipped + begin;
      piece.end_strip = skipped + end;
      kernels.linear_f32(piece);
    });
  }
}

bool factor_upper(float* h, std::int64_t size, ThreadPool& pool) {
  std::vector<float> panel;  // transposed: [columns, rows above]
  for (std::int64_t end = size; end > 0;) {
    const std::int64_t columns = std::min(kFactorColumns, end);
    const std::int64_t above = end - columns;
    float* block = h + above * size + above;
    if (!factor_block(block, size, columns)) return false;
    panel.resize(static_cast<std::size_t>(columns * above));
    pool.parallel_for(above, 32, [&](std::int64_t begin, std::int64_t stop) {
      for (std::int64_t i = begin; i < stop; ++i) {
        float* row = h + i * size + above;
        solve_row(block, size, columns, row);
        for (std::int64_t c = 0; c < columns; ++c) {
          panel[static_cast<std::size_t>(c * above + i)] = row[c];
        }
      }
    });
    if (above > 0) add_gram({panel.data(), columns, above, above}, -1.0f, h, size, pool);
    end = above;
  }
  return true;
}

}  // namespace linnet
