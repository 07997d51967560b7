#include "native/replay.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "kernels/tile_rows.h"
#include "native/attention.h"
#include "program/placed_rows.h"
#include "program/read_out_span.h"

namespace linnet {
namespace {

// Bytes of packed weights per piece of a linear: enough to be one stream, few enough to share out.
constexpr std::int64_t kPieceBytes = 64 << 10;
constexpr std::int64_t kRowsPerPiece = 8;
// A long prompt runs through all steps in chunks of so many rows: enough to share the work of
// widening weights, few enough that the activations stay in the caches.
constexpr std::int64_t kChunkRows = 512;

void grow(Buffer& buffer, std::int64_t bytes) {
  if (static_cast<std::int64_t>(buffer.size()) >= bytes) return;
  buffer = Buffer();
  buffer = Buffer(static_cast<std::uint64_t>(bytes), MemoryAccount::scratch());
}

// Memory of one thread, as large as the largest request.
std::byte* thread_scratch(std::int64_t bytes) {
  thread_local std::vector<std::byte> memory;
  if (static_cast<std::int64_t>(memory.size()) < bytes)
    memory.resize(static_cast<std::size_t>(bytes));
  return memory.data();
}

class Replay {
 public:
  Replay(const NativeLane& lane, const Batch& batch, const RunOptions& options,
         Workspace& workspace)
      : lane_(lane),
        batch_(batch),
        options_(options),
        workspace_(workspace),
        rows_(lane.program(), batch) {}

  std::vector<float> run() {
    const Place& output = lane_.lowered().output;
    const bool is_selected = buffer(output).rows == RowCount::selected;
    const auto rows =
        is_selected ? batch_.selected.size() : static_cast<std::size_t>(batch_.rows());
    std::vector<float> out(rows * static_cast<std::size_t>(output.width));
    for (std::int64_t first = 0; first < batch_.rows(); first += kChunkRows) {
      begin_chunk(first, std::min(kChunkRows, batch_.rows() - first));
      for (const NativeStep& step : lane_.lowered().steps) {
        if (options_.cancel && options_.cancel->load(std::memory_order_relaxed)) {
          fail(ErrorCode::cancelled, "cancelled");
        }
        execute(step);
        if (options_.on_hidden && step.hidden != kNone) tell_hidden(step);
      }
      if (rows_of(output) == 0) continue;
      const TelemetrySpan span = read_out_span(rows_of(output), output.width);
      for (std::int64_t row = 0; row < rows_of(output); ++row) {
        const std::int64_t to =
            is_selected ? selected_[static_cast<std::size_t>(row)] : first + row;
        std::copy_n(at(output, row), output.width, out.data() + to * output.width);
      }
    }
    rows_.commit();
    return out;
  }

 private:
  void begin_chunk(std::int64_t first, std::int64_t count) {
    first_ = first;
    count_ = count;
    selected_.clear();
    for (std::size_t i = 0; i < batch_.selected.size(); ++i) {
      const std::int64_t row = batch_.selected[i];
      if (row >= first && row < first + count) selected_.push_back(static_cast<std::int64_t>(i));
    }
    const LoweredProgram& lowered = lane_.lowered();
    workspace_.slots.resize(lowered.slots.size());
    for (std::size_t i = 0; i < lowered.slots.size(); ++i) {
      const SlotPlan& slot = lowered.slots[i];
      grow(workspace_.slots[i], row_count(slot.rows) * slot.width * 4);
    }
  }

  // Of the chunk, like all rows below.
  std::int64_t row_count(RowCount rows) const {
    return rows == RowCount::all ? count_ : static_cast<std::int64_t>(selected_.size());
  }
  const NativeBuffer& buffer(const Place& place) const {
    return lane_.lowered().buffers[static_cast<std::size_t>(place.buffer)];
  }
  std::int64_t rows_of(const Place& place) const { return row_count(buffer(place).rows); }
  float* at(const Place& place, std::int64_t row) {
    const NativeBuffer& of = buffer(place);
    float* base = workspace_.slots[static_cast<std::size_t>(of.slot)].as<float>().data();
    return base + row * of.width + place.offset;
  }

  // Hidden states have buffers of their own width, so their rows are dense.
  void tell_hidden(const NativeStep& step) {
    const auto index = static_cast<std::size_t>(step.hidden);
    if (index + 1 == lane_.program().hidden_states.size()) return;
    const std::int64_t size = rows_of(step.output) * step.output.width;
    options_.on_hidden(index, {at(step.output, 0), static_cast<std::size_t>(size)});
  }

  void tell_output_input(const NativeStep& step) {
    const std::int64_t rows = rows_of(step.input), width = step.input.width;
    std::vector<float> told(static_cast<std::size_t>(rows * width));
    for (std::int64_t row = 0; row < rows; ++row) {
      float* out = told.data() + row * width;
      if (step.norm) {
        lane_.kernels().rms_norm(at(step.input, row), lane_.vector(step.norm->weight).data(),
                                 step.norm->epsilon, width, out);
      } else {
        std::copy_n(at(step.input, row), width, out);
      }
    }
    if (rows > 0) options_.on_output_input(told);
  }

  void execute(const NativeStep& step) {
    switch (step.op) {
      case NativeOp::embed:
        return embed(step);
      case NativeOp::linear:
        return linear(step);
      case NativeOp::attention:
        return attention(step);
      case NativeOp::rms_norm:
        for (std::int64_t row = 0; row < rows_of(step.output); ++row) {
          lane_.kernels().rms_norm(at(step.input, row), lane_.vector(step.norm->weight).data(),
                                   step.norm->epsilon, step.output.width, at(step.output, row));
        }
        return;
      case NativeOp::add:
      case NativeOp::gated_activation:
        return elementwise(step);
      case NativeOp::select_rows:
        for (std::size_t i = 0; i < selected_.size(); ++i) {
          const std::int32_t row = batch_.selected[static_cast<std::size_t>(selected_[i])];
          std::copy_n(at(step.input, row - first_), step.output.width,
                      at(step.output, static_cast<std::int64_t>(i)));
        }
        return;
    }
  }

  void embed(const NativeStep& step) {
    const std::int64_t width = step.output.width;
    lane_.pool().parallel_for(count_, 4, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        float* out = at(step.output, row);
        if (batch_.embeddings.empty()) {
          lane_.embed(batch_.tokens[static_cast<std::size_t>(first_ + row)], out);
        } else {
          std::copy_n(batch_.embeddings.data() + (first_ + row) * width, width, out);
        }
      }
    });
  }

  void elementwise(const NativeStep& step) {
    for (std::int64_t row = 0; row < rows_of(step.output); ++row) {
      const float* a = at(step.input, row);
      const float* b = at(step.second, row);
      float* out = at(step.output, row);
      if (step.op == NativeOp::gated_activation) {
        gated_activation(step.activation, a, b, out, step.output.width);
      } else {
        for (std::int64_t i = 0; i < step.output.width; ++i) out[i] = a[i] + b[i];
      }
    }
  }

  void linear(const NativeStep& step) {
    const NativeLane::Matrix& matrix = lane_.matrices()[static_cast<std::size_t>(step.matrix)];
    const PackedShape& shape = matrix.packed.shape();
    LinearTask task;
    if (options_.on_output_input && step.output.buffer == lane_.lowered().output.buffer) {
      tell_output_input(step);
    }
    task.x = tile(step, shape);
    if (task.x.rows == 0) return;
    task.strips = matrix.packed.strips();
    task.strip_bytes = shape.strip_bytes();
    task.inputs = shape.inputs;
    task.bias = matrix.bias.empty() ? nullptr : matrix.bias.data();
    task.out = at(step.output, 0);
    task.out_stride = buffer(step.output).width;
    task.outputs = matrix.outputs;
    task.epilogue = step.epilogue;
    task.activation = step.activation;
    task.grouped = &shape.grouped;
    const LinearKernel kernel = linear_of(lane_.kernels(), shape.format);
    const std::int64_t grain = std::max<std::int64_t>(1, kPieceBytes / task.strip_bytes);
    lane_.pool().parallel_for(shape.strips(), grain, [&](std::int64_t begin, std::int64_t end) {
      LinearTask piece = task;
      piece.first_strip = begin;
      piece.end_strip = end;
      piece.scratch = thread_scratch(shape.scratch_bytes());
      kernel(piece);
    });
  }

  // The input's rows, normed and quantized as the matrix wants them, in the kernel's order.
  TiledRows tile(const NativeStep& step, const PackedShape& shape) {
    const std::int64_t rows = rows_of(step.input);
    grow(workspace_.units, rows * shape.row_bytes());
    workspace_.scales.resize(static_cast<std::size_t>(rows));
    workspace_.sums.resize(static_cast<std::size_t>(rows));
    const auto work = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) tile_one(step, shape, row, rows);
    };
    if (rows < kRowsPerPiece) {
      work(0, rows);
    } else {
      lane_.pool().parallel_for(rows, kRowsPerPiece, work);
    }
    return {workspace_.units.data(), workspace_.scales.data(), workspace_.sums.data(), rows};
  }

  void tile_one(const NativeStep& step, const PackedShape& shape, std::int64_t row,
                std::int64_t rows) {
    const Kernels& kernels = lane_.kernels();
    const std::int64_t width = step.input.width;
    std::byte* scratch = thread_scratch(width * 4 + shape.row_bytes());
    const float* x = at(step.input, row);
    if (step.norm) {
      auto* normed = reinterpret_cast<float*>(scratch);
      kernels.rms_norm(x, lane_.vector(step.norm->weight).data(), step.norm->epsilon, width,
                       normed);
      x = normed;
    }
    const void* source = x;
    if (shape.format == PackedFormat::grouped) {
      std::byte* groups = scratch + width * 4;
      kernels.quantize_groups(x, width, shape.grouped.format.group, shape.grouped.format.zero,
                              groups);
      source = groups;
    } else if (is_integer(shape.format)) {
      auto* codes = reinterpret_cast<std::int8_t*>(scratch + width * 4);
      const auto index = static_cast<std::size_t>(row);
      kernels.quantize(x, width, shape.inputs, codes, &workspace_.scales[index],
                       &workspace_.sums[index]);
      source = codes;
    }
    tile_row(source, row, rows, shape.row_bytes(), row_tiling(kernels, shape.format, rows),
             workspace_.units.data());
  }

  void attention(const NativeStep& step) {
    AttentionRows io;
    io.first = first_;
    io.count = count_;
    io.cache = lane_.cache_format();
    io.query = at(step.query, 0);
    io.query_stride = buffer(step.query).width;
    io.key = at(step.key, 0);
    io.key_stride = buffer(step.key).width;
    io.value = at(step.value, 0);
    io.value_stride = buffer(step.value).width;
    io.out = at(step.output, 0);
    io.out_stride = buffer(step.output).width;
    attend_rows(lane_.kernels(), step, io, rows_, lane_.pool(), workspace_.partials);
  }

  const NativeLane& lane_;
  const Batch& batch_;
  const RunOptions& options_;
  Workspace& workspace_;
  PlacedRows rows_;                     // of the whole batch
  std::int64_t first_ = 0, count_ = 0;  // the chunk's rows in the batch
  std::vector<std::int64_t> selected_;  // which of batch.selected are in the chunk
};

}  // namespace

std::vector<float> replay(const NativeLane& lane, const Batch& batch, const RunOptions& options,
                          Workspace& workspace) {
  return Replay(lane, batch, options, workspace).run();
}

}  // namespace linnet
