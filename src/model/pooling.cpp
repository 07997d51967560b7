#include "model/pooling.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"

namespace linnet {
namespace {

bool is_masked(const PaddedBatch& padded, std::int64_t row, std::int64_t column) {
  return !padded.mask.empty() &&
         padded.mask[static_cast<std::size_t>(row * padded.length + column)] == 0;
}

bool is_text(const PaddedBatch& padded, std::int64_t row, std::int64_t column,
             std::int32_t pad_id) {
  if (is_masked(padded, row, column)) return false;
  return padded.tokens[static_cast<std::size_t>(row * padded.length + column)] != pad_id;
}

std::int64_t rightmost_unmasked(const PaddedBatch& padded, std::int64_t row) {
  std::int64_t column = padded.length - 1;
  while (column >= 0 && is_masked(padded, row, column)) --column;
  return column;
}

std::int64_t pooled_column(const PaddedBatch& padded, std::int64_t row, PoolingRule rule,
                           std::int32_t pad_id) {
  if (rule == PoolingRule::rightmost_unmasked || padded.tokens.empty() || pad_id < 0) {
    return rightmost_unmasked(padded, row);
  }
  std::int64_t column = padded.length - 1;
  if (rule == PoolingRule::rightmost_not_pad) {
    while (column > 0 && !is_text(padded, row, column, pad_id)) --column;
  } else {
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < padded.length; ++i) count += is_text(padded, row, i, pad_id);
    column = std::max<std::int64_t>(0, count - 1);
  }
  return column >= 0 && !is_masked(padded, row, column) ? column : -1;
}

}  // namespace

std::vector<std::int64_t> pooled_columns(const PaddedBatch& padded, PoolingRule rule,
                                         std::int32_t pad_id) {
  check_padded(padded);
  if (!padded.document_lengths.empty()) {
    fail(ErrorCode::unsupported,
         "packed documents cannot be pooled: give each document a row of its own");
  }
  if (rule == PoolingRule::rightmost_not_pad && pad_id < 0 && !padded.tokens.empty() &&
      padded.batch > 1) {
    fail(ErrorCode::invalid_argument,
         fmt::format("{} rows, but the model has no pad_token_id to find their ends by: set it in "
                     "the config, give one row at a time, or pool the right-most unmasked token",
                     padded.batch));
  }
  std::vector<std::int64_t> columns;
  for (std::int64_t row = 0; row < padded.batch; ++row)
    columns.push_back(pooled_column(padded, row, rule, pad_id));
  return columns;
}

}  // namespace linnet
