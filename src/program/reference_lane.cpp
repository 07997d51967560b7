#include "program/reference_lane.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
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

void check_ids(std::span<const std::int32_t> tokens, std::int64_t vocab) {
  for (std::size_t row = 0; row < tokens.size(); ++row) {
    if (tokens[row] < 0 || tokens[row] >= vocab) {
      fail(ErrorCode::invalid_argument,
           fmt::format("token id {} in row {} is outside of the vocabulary of {}", tokens[row], row,
                       vocab));
    }
  }
}

void check_batch(const Batch& batch, const Program& program) {
  const std::int64_t rows = batch.rows();
  const auto require_count = [](std::string_view what, std::int64_t got, std::int64_t wanted) {
    if (got != wanted) {
      fail(ErrorCode::invalid_argument,
           fmt::format("{}: expected {}, found {}", what, wanted, got));
    }
  };
  if (batch.embeddings.empty()) {
    require_count("tokens of the batch", static_cast<std::int64_t>(batch.tokens.size()), rows);
    check_ids(batch.tokens, program.vocab);
  } else {
    require_count("tokens beside embeddings", static_cast<std::int64_t>(batch.tokens.size()), 0);
    require_count("numbers in the embeddings", static_cast<std::int64_t>(batch.embeddings.size()),
                  rows * program.hidden);
  }
  if (!batch.columns.empty()) {
    require_count("columns of the batch", static_cast<std::int64_t>(batch.columns.size()), rows);
  }
  std::int64_t sequence_rows = 0;
  for (const SequenceRows& sequence : batch.sequences) {
    LINNET_CHECK(sequence.cache != nullptr && sequence.rows >= 0);
    sequence_rows += sequence.rows;
  }
  require_count("rows of the sequences", sequence_rows, rows);
  for (const std::int32_t row : batch.selected) {
    if (row < 0 || row >= rows) {
      fail(ErrorCode::invalid_argument, fmt::format("selected row {} of {} rows", row, rows));
    }
  }
  for (const std::int32_t position : batch.positions) {
    if (position < 0) {
      fail(ErrorCode::invalid_argument, fmt::format("position {} is negative", position));
    }
  }
  if (!batch.head_mask.empty()) {
    require_count("numbers in the head mask", static_cast<std::int64_t>(batch.head_mask.size()),
                  program.layers * program.heads);
  }
}

}  // namespace

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

std::vector<float> ReferenceLane::run(const Batch& batch, const RunOptions& options) const {
  check_batch(batch, *program_);
  if (batch.rows() == 0) return {};
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
  for (const SequenceRows& sequence : batch.sequences) sequence.cache->commit(sequence.rows);
  const std::span<const float> output = run.value(program_->output);
  return {output.begin(), output.end()};
}

}  // namespace linnet
