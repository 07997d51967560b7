#include "program/reference_lane.h"

#include <algorithm>

#include "base/error.h"
#include "program/read_out_span.h"
#include "program/reference_run.h"

namespace linnet {
namespace {

// Where each value is read for the last time, so that its memory can be used again.
std::vector<std::int32_t> find_last_uses(const Program& program) {
  std::vector<std::int32_t> last(program.values.size(), kNone);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    for (const ValueId id : program.steps[i].inputs) {
      last[static_cast<std::size_t>(id)] = static_cast<std::int32_t>(i);
    }
  }
  return last;
}

}  // namespace

std::int64_t reference_scratch_bytes(const Program& program, std::int64_t rows) {
  const std::vector<std::int32_t> last = find_last_uses(program);
  const auto bytes_of = [&](ValueId id) {
    const Value& value = program.values[static_cast<std::size_t>(id)];
    return (value.rows == RowCount::all ? rows : 1) * value.width * std::int64_t{sizeof(float)};
  };
  std::int64_t now = 0, most = 0;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    now += bytes_of(program.steps[i].output);
    most = std::max(most, now);
    for (std::size_t id = 0; id < last.size(); ++id) {
      if (last[id] == static_cast<std::int32_t>(i)) now -= bytes_of(static_cast<ValueId>(id));
    }
  }
  return most;
}

ReferenceLane::ReferenceLane(std::shared_ptr<const Program> program, std::vector<Tensor> weights,
                             std::shared_ptr<ThreadPool> pool)
    : program_(std::move(program)), weights_(std::move(weights)), pool_(std::move(pool)) {
  check_program(*program_);
  LINNET_CHECK(weights_.size() == program_->weights.size());
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    LINNET_CHECK(weights_[i].shape() == program_->weights[i].shape, program_->weights[i].name);
  }
  last_use_ = find_last_uses(*program_);
}

std::vector<float> ReferenceLane::run_rows(const Batch& batch, const RunOptions& options) const {
  for (const SequenceRows& sequence : batch.sequences) sequence.cache->reserve(sequence.rows);

  ReferenceRun run(*program_, weights_, *pool_, batch, options);
  for (std::size_t i = 0; i < program_->steps.size(); ++i) {
    if (options.cancel != nullptr && options.cancel->load(std::memory_order_relaxed)) {
      fail(ErrorCode::cancelled, "cancelled");
    }
    const Step& step = program_->steps[i];
    run.execute(step);
    for (const ValueId id : step.inputs) {
      if (last_use_[static_cast<std::size_t>(id)] == static_cast<std::int32_t>(i)) run.release(id);
    }
  }
  const std::int64_t width = program_->values[static_cast<std::size_t>(program_->output)].width;
  const std::span<const float> values = run.value(program_->output);
  const auto rows = static_cast<std::int64_t>(values.size()) / width;
  std::vector<float> output;
  if (rows > 0) {
    const TelemetrySpan span = read_out_span(rows, width);
    output.assign(values.begin(), values.end());
  }
  run.commit();
  return output;
}

void ReferenceLane::read_cache(KvCache& cache, std::int64_t layer, std::int64_t position,
                               float* keys, float* values) const {
  std::copy_n(cache.key(layer, position), program_->kv_width, keys);
  std::copy_n(cache.value(layer, position), program_->kv_width, values);
}

}  // namespace linnet
