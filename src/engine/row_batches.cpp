#include "engine/row_batches.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "base/error.h"

namespace linnet {
namespace {

// Stretches of inputs that are computed in one call; each belongs to an input's cache.
class BatchCall {
 public:
  explicit BatchCall(const Model& model) : model_(model) {}

  std::int64_t rows() const { return static_cast<std::int64_t>(ids_.size()); }
  std::int64_t inputs() const { return static_cast<std::int64_t>(stretches_.size()); }

  // The rows [first, first + count) of an input, whose earlier ones the cache holds.
  void add(std::size_t index, const RowInput& input, std::int64_t first, std::int64_t count,
           KvCache& cache) {
    const std::size_t selected_before = selected_.size();
    for (std::int64_t row = first; row < first + count; ++row) {
      if (!input.row || *input.row == row) selected_.push_back(static_cast<std::int32_t>(rows()));
      ids_.push_back(input.ids[static_cast<std::size_t>(row)]);
      positions_.push_back(static_cast<std::int32_t>(row));
    }
    sequences_.push_back({&cache, count});
    stretches_.push_back({index, selected_.size() - selected_before});
  }

  void run(const RowSink& sink, const std::atomic<bool>* cancel) {
    if (stretches_.empty()) return;
    Batch batch;
    batch.tokens = ids_;
    batch.positions = positions_;
    batch.sequences = sequences_;
    batch.selected = selected_;
    RunOptions options;
    options.cancel = cancel;
    const std::vector<float> output = model_.run(batch, options);
    const auto width = static_cast<std::size_t>(output_width(model_));
    std::size_t at = 0;
    for (const Stretch& stretch : stretches_) {
      const std::size_t size = stretch.selected * width;
      if (size > 0) sink(stretch.input, std::span(output).subspan(at, size));
      at += size;
    }
  }

 private:
  struct Stretch {
    std::size_t input;
    std::size_t selected;
  };

  const Model& model_;
  std::vector<TokenId> ids_;
  std::vector<std::int32_t> positions_, selected_;
  std::vector<SequenceRows> sequences_;
  std::vector<Stretch> stretches_;
};

void check_inputs(const Model& model, std::span<const RowInput> inputs, const BatchLimits& limits) {
  if (limits.inputs < 1 || limits.rows < 1) {
    fail(ErrorCode::invalid_argument,
         fmt::format("batches of {} inputs and {} rows: both must be at least 1", limits.inputs,
                     limits.rows));
  }
  const std::int64_t context = model.context();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto count = static_cast<std::int64_t>(inputs[i].ids.size());
    if (count > context) {
      fail(ErrorCode::invalid_argument, fmt::format("input {} has {} tokens, the model's context "
                                                    "{}: shorten it, or take it apart",
                                                    i, count, context));
    }
    LINNET_CHECK(!inputs[i].row || (*inputs[i].row >= 0 && *inputs[i].row < count));
  }
}

// An input that fills more than one batch, in pieces.
void run_pieces(const Model& model, std::size_t index, const RowInput& input, std::int64_t rows,
                const RowSink& sink, const std::atomic<bool>* cancel) {
  KvCache cache = model.make_cache();
  const auto count = static_cast<std::int64_t>(input.ids.size());
  for (std::int64_t first = 0; first < count; first += rows) {
    BatchCall call(model);
    call.add(index, input, first, std::min(rows, count - first), cache);
    call.run(sink, cancel);
  }
}

}  // namespace

std::int64_t output_width(const Model& model) {
  const Program& program = model.program();
  return program.values[static_cast<std::size_t>(program.output)].width;
}

void run_in_batches(const Model& model, std::span<const RowInput> inputs, const BatchLimits& limits,
                    const RowSink& sink, const std::atomic<bool>* cancel) {
  check_inputs(model, inputs, limits);
  std::size_t next = 0;
  while (next < inputs.size()) {
    const auto rows_of = [&](std::size_t i) {
      return static_cast<std::int64_t>(inputs[i].ids.size());
    };
    if (rows_of(next) > limits.rows) {
      run_pieces(model, next, inputs[next], limits.rows, sink, cancel);
      ++next;
      continue;
    }
    BatchCall call(model);
    std::vector<KvCache> caches;
    caches.reserve(static_cast<std::size_t>(
        std::min(limits.inputs, static_cast<std::int64_t>(inputs.size() - next))));
    while (next < inputs.size() && call.inputs() < limits.inputs &&
           call.rows() + rows_of(next) <= limits.rows) {
      const std::size_t index = next++;
      if (rows_of(index) == 0) continue;
      caches.push_back(model.make_cache());  // never moves: room for all was reserved
      call.add(index, inputs[index], 0, rows_of(index), caches.back());
    }
    call.run(sink, cancel);
  }
}

}  // namespace linnet
