#include "model/padded_batch.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace linnet {
namespace {

// Keeps products with a width far from overflow.
constexpr std::int64_t kMostCells = std::int64_t{1} << 31;

void check_rectangle(const PaddedBatch& padded) {
  std::int64_t cells = 0;
  if (padded.batch < 0 || padded.length < 0 || padded.past_columns < 0 ||
      padded.past_columns > kMostCells ||
      __builtin_mul_overflow(padded.batch, padded.length, &cells) || cells > kMostCells) {
    fail(ErrorCode::invalid_argument,
         fmt::format("a batch of [{}, {}] after {} columns: sizes must not be negative, nor more "
                     "than {} in all",
                     padded.batch, padded.length, padded.past_columns, kMostCells));
  }
}

void require_size(std::string_view name, std::size_t got, const PaddedBatch& padded,
                  std::int64_t width = 1) {
  if (static_cast<std::int64_t>(got) == padded.batch * padded.length * width) return;
  fail(ErrorCode::invalid_argument,
       fmt::format("{}: found {} numbers, expected {} for [{}, {}{}]", name, got,
                   padded.batch * padded.length * width, padded.batch, padded.length,
                   width == 1 ? "" : fmt::format(", {}", width)));
}

std::int32_t narrow(std::string_view name, std::int64_t value, const PaddedBatch& padded,
                    std::size_t cell) {
  if (value < std::numeric_limits<std::int32_t>::min() ||
      value > std::numeric_limits<std::int32_t>::max()) {
    const auto index = static_cast<std::int64_t>(cell);
    fail(ErrorCode::invalid_argument,
         fmt::format("{} {} in row {}, column {} is out of range", name, value,
                     index / padded.length, index % padded.length));
  }
  return static_cast<std::int32_t>(value);
}

void check_mask(const PaddedBatch& padded) {
  if (padded.mask.empty()) return;
  require_size("mask", padded.mask.size(), padded);
  for (std::size_t i = 0; i < padded.mask.size(); ++i) {
    if (padded.mask[i] == 0 || padded.mask[i] == 1) continue;
    const auto index = static_cast<std::int64_t>(i);
    fail(ErrorCode::invalid_argument,
         fmt::format("mask: found {} in row {}, column {}, expected 0 or 1", padded.mask[i],
                     index / padded.length, index % padded.length));
  }
}

void check_documents(const PaddedBatch& padded) {
  if (padded.document_lengths.empty()) return;
  std::int64_t columns = 0;
  for (const std::int64_t length : padded.document_lengths) {
    // More than there are columns need not be added up.
    columns = length < 0 || length > padded.length ? kMostCells + 1
                                                   : std::min(kMostCells + 1, columns + length);
  }
  if (padded.batch != 1 || columns != padded.length) {
    fail(ErrorCode::invalid_argument,
         fmt::format("documents: {} lengths must add up to the {} columns of one row; the batch is "
                     "[{}, {}]",
                     padded.document_lengths.size(), padded.length, padded.batch, padded.length));
  }
}

// Appends the real rows of one row's columns from `first` on.
void append_sequence(const PaddedBatch& padded, std::int64_t row, std::int64_t first,
                     std::int64_t count, RaggedBatch& ragged) {
  std::int64_t rows = 0;
  const std::int64_t origin = padded.document_lengths.empty() ? -padded.past_columns : first;
  for (std::int64_t column = first; column < first + count; ++column) {
    const auto source = static_cast<std::size_t>(row * padded.length + column);
    if (!padded.mask.empty() && padded.mask[source] == 0) continue;
    if (padded.embeddings.empty()) {
      ragged.tokens.push_back(narrow("token id", padded.tokens[source], padded, source));
    } else {
      const auto begin =
          padded.embeddings.begin() + static_cast<std::ptrdiff_t>(source) * padded.hidden;
      ragged.embeddings.insert(ragged.embeddings.end(), begin, begin + padded.hidden);
    }
    const std::int64_t position =
        padded.positions.empty() ? column - origin : padded.positions[source];
    ragged.positions.push_back(narrow("position", position, padded, source));
    ragged.columns.push_back(narrow("column", padded.past_columns + column, padded, source));
    ragged.source_rows.push_back(static_cast<std::int64_t>(source));
    ++rows;
  }
  ragged.row_counts.push_back(rows);
}

}  // namespace

void check_padded(const PaddedBatch& padded) {
  check_rectangle(padded);
  if (padded.embeddings.empty()) {
    require_size("tokens", padded.tokens.size(), padded);
  } else {
    if (!padded.tokens.empty()) {
      fail(ErrorCode::invalid_argument,
           fmt::format("both tokens ({}) and embeddings ({}) are given; give one of them",
                       padded.tokens.size(), padded.embeddings.size()));
    }
    if (padded.hidden < 1 || padded.hidden > kMostCells) {
      fail(ErrorCode::invalid_argument, fmt::format("embeddings {} wide", padded.hidden));
    }
    require_size("embeddings", padded.embeddings.size(), padded, padded.hidden);
  }
  if (!padded.positions.empty()) require_size("positions", padded.positions.size(), padded);
  check_mask(padded);
  check_documents(padded);
}

RaggedBatch make_ragged(const PaddedBatch& padded) {
  check_padded(padded);
  RaggedBatch ragged;
  if (padded.document_lengths.empty()) {
    for (std::int64_t row = 0; row < padded.batch; ++row)
      append_sequence(padded, row, 0, padded.length, ragged);
    return ragged;
  }
  std::int64_t first = 0;
  for (const std::int64_t length : padded.document_lengths) {
    append_sequence(padded, 0, first, length, ragged);
    first += length;
  }
  return ragged;
}

PaddedBatch PaddedTokens::view() const {
  PaddedBatch padded;
  padded.batch = batch;
  padded.length = length;
  padded.tokens = tokens;
  padded.mask = mask;
  return padded;
}

PaddedTokens pad_sequences(std::span<const std::vector<std::int32_t>> sequences,
                           std::int32_t pad_id) {
  PaddedTokens padded;
  padded.batch = static_cast<std::int64_t>(sequences.size());
  std::size_t length = 0;
  for (const auto& sequence : sequences) length = std::max(length, sequence.size());
  padded.length = static_cast<std::int64_t>(length);
  padded.tokens.assign(sequences.size() * length, pad_id);
  padded.mask.assign(sequences.size() * length, 0);
  for (std::size_t row = 0; row < sequences.size(); ++row) {
    const auto begin = static_cast<std::ptrdiff_t>(row * length);
    std::copy(sequences[row].begin(), sequences[row].end(), padded.tokens.begin() + begin);
    std::fill_n(padded.mask.begin() + begin, sequences[row].size(), 1);
  }
  return padded;
}

}  // namespace linnet
