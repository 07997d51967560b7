#include "program/lane.h"

#include <fmt/core.h>

#include <new>

#include "base/error.h"
#include "base/telemetry.h"

namespace linnet {
namespace {

// Up to here the angles of a rotation are exact (see sin_f64).
constexpr std::int32_t kMostPosition = 1 << 30;

void check_ids(std::span<const std::int32_t> tokens, std::int64_t vocab) {
  for (std::size_t row = 0; row < tokens.size(); ++row) {
    if (tokens[row] < 0 || tokens[row] >= vocab) {
      fail(ErrorCode::invalid_argument,
           fmt::format("token id {} in row {} is outside of the vocabulary of {}", tokens[row], row,
                       vocab));
    }
  }
}

}  // namespace

std::vector<float> Lane::run(const Batch& batch, const RunOptions& options) const {
  check_batch(batch, program());
  const OuterSpan span("eval");
  if (batch.rows() == 0) return {};
  const auto drop_reserved_room = [&] {
    for (const SequenceRows& each : batch.sequences) each.cache->truncate(each.cache->length());
  };
  try {
    return run_rows(batch, options);
  } catch (const std::bad_alloc&) {
    drop_reserved_room();
    fail(ErrorCode::out_of_memory, fmt::format("no memory to compute {} rows", batch.rows()));
  } catch (...) {
    drop_reserved_room();
    throw;
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
    if (position < 0 || position > kMostPosition) {
      fail(ErrorCode::invalid_argument,
           fmt::format("position {}: expected 0 to {}", position, kMostPosition));
    }
  }
  if (!batch.head_mask.empty()) {
    require_count("numbers in the head mask", static_cast<std::int64_t>(batch.head_mask.size()),
                  program.layers * program.heads);
  }
}

}  // namespace linnet
