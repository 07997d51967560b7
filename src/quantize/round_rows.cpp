#include "quantize/round_rows.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/memory_account.h"
#include "kernels/kernels.h"
#include "quantize/row_grid.h"

namespace linnet {
namespace {

constexpr std::int64_t kBlock = 64;  // columns whose feedback is summed at once: two strips

// Let H = (U + I) D (U + I)^T with U strictly upper triangular, and E the errors w - w' so far.
// Then w'_k = nearest(w_k + sum over j < k of E_j U_jk): what rounding still adds to the error in
// the norm of H is its own residual. `factor` holds (U + I) sqrt(D).
class Feedback {
 public:
  Feedback(const RoundRowsJob& job, std::vector<RoundedRow>& out, ThreadPool& pool)
      : job_(job), kernels_(choose_kernels()), pool_(pool), tile_rows_(kernels_.few_tile_rows) {
    grids_.reserve(out.size());
    for (std::int64_t row = 0; row < job.rows; ++row) {
      grids_.emplace_back(std::nullopt);
    }
    pool.parallel_for(job.rows, 4, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const auto i = static_cast<std::size_t>(row);
        grids_[i].emplace(job.format, weights(row), job.importance, out[i]);
      }
    });
    if (job.factor == nullptr) return;
    const auto bytes = static_cast<std::uint64_t>(job.rows * job.width) * sizeof(float);
    errors_ = Buffer(bytes, MemoryAccount::scratch());
    const auto strip_bytes = static_cast<std::uint64_t>(job.width * kBlock) * sizeof(float);
    strips_ = Buffer(strip_bytes, MemoryAccount::scratch());
    for (std::int64_t first = 0; first < job.width; first += kBlock) round_block(first);
  }

 private:
  std::span<const float> weights(std::int64_t row) const {
    return {job_.weights + row * job_.width, static_cast<std::size_t>(job_.width)};
  }

  // U_jk for all j up to the end of the block and its columns k: two strips of [first][32], and the
  // block's own triangle.
  void take_factor(std::int64_t first, std::int64_t count) {
    float inverse[kBlock] = {};
    for (std::int64_t c = 0; c < count; ++c) {
      const std::int64_t k = first + c;
      inverse[c] = 1.0f / job_.factor[k * job_.width + k];
    }
    auto* strips = strips_.as<float>().data();
    pool_.parallel_for(first, 256, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t j = begin; j < end; ++j) {
        const float* from = job_.factor + j * job_.width + first;
        for (std::int64_t c = 0; c < kBlock; ++c) {
          const std::int64_t at =
              (c / kStripOutputs * first + j) * kStripOutputs + c % kStripOutputs;
          strips[at] = c < count ? from[c] * inverse[c] : 0.0f;
        }
      }
    });
    for (std::int64_t j = 0; j < count; ++j) {
      const float* from = job_.factor + (first + j) * job_.width + first;
      for (std::int64_t c = j + 1; c < count; ++c) triangle_[j * kBlock + c] = from[c] * inverse[c];
    }
  }

  void round_block(std::int64_t first) {
    const std::int64_t count = std::min(kBlock, job_.width - first);
    take_factor(first, count);
    const std::int64_t tiles = (job_.rows + tile_rows_ - 1) / tile_rows_;
    pool_.parallel_for(tiles, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t tile = begin; tile < end; ++tile) round_tile(tile, first, count);
    });
  }

  // Errors of a tile lie as the kernel reads them: [width][rows of the tile].
  void round_tile(std::int64_t tile, std::int64_t first, std::int64_t count) {
    const std::int64_t first_row = tile * tile_rows_;
    const std::int64_t rows = std::min(tile_rows_, job_.rows - first_row);
    float* errors = errors_.as<float>().data() + first_row * job_.width;
    thread_local std::vector<float> sums;
    sums.assign(static_cast<std::size_t>(rows * kBlock), 0.0f);
    if (first > 0) {
      LinearTask task;
      task.strips = strips_.data();
      task.strip_bytes = first * kStripOutputs * static_cast<std::int64_t>(sizeof(float));
      task.inputs = first;
      task.end_strip = kBlock / kStripOutputs;
      task.x.units = reinterpret_cast<const std::byte*>(errors);
      task.x.rows = rows;
      task.out = sums.data();
      task.out_stride = kBlock;
      task.outputs = kBlock;
      kernels_.linear_f32(task);
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      float* sum = &sums[static_cast<std::size_t>(r * kBlock)];
      const float* row = job_.weights + (first_row + r) * job_.width + first;
      RowGrid& grid = *grids_[static_cast<std::size_t>(first_row + r)];
      for (std::int64_t c = 0; c < count; ++c) {
        const float error =
            row[c] - grid.place(static_cast<std::size_t>(first + c), row[c] + sum[c]);
        errors[(first + c) * rows + r] = error;
        const float* u = triangle_ + c * kBlock;
        for (std::int64_t d = c + 1; d < count; ++d) sum[d] += error * u[d];
      }
    }
  }

  const RoundRowsJob& job_;
  const Kernels& kernels_;
  ThreadPool& pool_;
  std::int64_t tile_rows_;  // so few that the kernels take them as one tile
  std::vector<std::optional<RowGrid>> grids_;
  Buffer errors_, strips_;
  float triangle_[kBlock * kBlock] = {};
};

}  // namespace

std::string_view row_format_name(RowFormat format) {
  constexpr std::string_view kNames[] = {"f32", "i8", "n4", "s6", "affine4"};
  return kNames[static_cast<std::size_t>(format)];
}

std::vector<RoundedRow> round_rows(const RoundRowsJob& job, ThreadPool& pool) {
  LINNET_CHECK(job.importance.empty() ||
               job.importance.size() == static_cast<std::size_t>(job.width));
  std::vector<RoundedRow> out(static_cast<std::size_t>(job.rows));
  Feedback(job, out, pool);
  return out;
}

void decode_row(RowFormat format, const RoundedRow& row, float* out) {
  if (format == RowFormat::i8) return decode_i8(row.i8, out);
  if (format == RowFormat::n4) return decode_n4(row.n4, out);
  if (format == RowFormat::s6) return decode_s6(row.s6, out);
  LINNET_CHECK(format == RowFormat::affine4);
  const Affine4Row& affine = row.affine4;
  for (std::size_t k = 0; k < affine.codes.size(); ++k) {
    const std::size_t group = k / kAffine4Group;
    out[k] = affine.scales[group] * static_cast<float>(affine.codes[k]) + affine.biases[group];
  }
}

}  // namespace linnet
