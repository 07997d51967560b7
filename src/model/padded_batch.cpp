#include "model/padded_batch.h"

#include <fmt/core.h>

#include <limits>

#include "base/error.h"

namespace linnet {
namespace {

void require_size(std::string_view name, std::size_t got, std::int64_t wanted) {
  if (static_cast<std::int64_t>(got) != wanted) {
    fail(ErrorCode::invalid_argument,
         fmt::format("{} has {} numbers, [batch, length] needs {}", name, got, wanted));
  }
}

std::int32_t narrow(std::string_view name, std::int64_t value) {
  if (value < std::numeric_limits<std::int32_t>::min() ||
      value > std::numeric_limits<std::int32_t>::max()) {
    fail(ErrorCode::invalid_argument, fmt::format("{}: {} is too large", name, value));
  }
  return static_cast<std::int32_t>(value);
}

void check_sizes(const PaddedBatch& padded) {
  const std::int64_t count = padded.batch * padded.length;
  if (padded.embeddings.empty()) {
    require_size("tokens", padded.tokens.size(), count);
  } else {
    require_size("embeddings", padded.embeddings.size(), count * padded.hidden);
  }
  if (!padded.mask.empty()) require_size("mask", padded.mask.size(), count);
  if (!padded.positions.empty()) require_size("positions", padded.positions.size(), count);
}

}  // namespace

RaggedBatch make_ragged(const PaddedBatch& padded, std::int64_t first_column,
                        std::int64_t last_column) {
  check_sizes(padded);
  RaggedBatch ragged;
  for (std::int64_t row = 0; row < padded.batch; ++row) {
    std::int64_t rows = 0;
    for (std::int64_t column = first_column; column < last_column; ++column) {
      const auto source = static_cast<std::size_t>(row * padded.length + column);
      if (!padded.mask.empty() && padded.mask[source] == 0) continue;
      if (padded.embeddings.empty()) {
        ragged.tokens.push_back(narrow("token id", padded.tokens[source]));
      } else {
        const auto begin =
            padded.embeddings.begin() + static_cast<std::ptrdiff_t>(source) * padded.hidden;
        ragged.embeddings.insert(ragged.embeddings.end(), begin, begin + padded.hidden);
      }
      ragged.positions.push_back(
          narrow("position", padded.positions.empty() ? column : padded.positions[source]));
      ragged.columns.push_back(narrow("column", column));
      ragged.source_rows.push_back(static_cast<std::int64_t>(source));
      ++rows;
    }
    ragged.row_counts.push_back(rows);
  }
  return ragged;
}

}  // namespace linnet
