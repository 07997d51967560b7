// The border between padded rectangles and ragged rows: an API that takes [batch, length] arrays
// with a mask converts here; behind it no padding exists.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "program/reference_lane.h"

namespace linnet {

// Arrays of [batch, length]. Exactly one of tokens and embeddings ([batch, length, hidden]).
struct PaddedBatch {
  std::int64_t batch = 0;
  std::int64_t length = 0;
  std::int64_t hidden = 0;
  std::span<const std::int64_t> tokens;
  std::span<const float> embeddings;
  std::span<const std::int64_t> mask;  // 1: a real token, 0: none; zeros anywhere; empty: all 1
  std::span<const std::int64_t> positions;  // empty: the column's number
  std::int64_t past_columns = 0;            // columns before these, of earlier calls
  // Documents packed in the only row: these many columns each. None sees another one; without
  // `positions` each counts from 0.
  std::span<const std::int64_t> document_lengths;
};

// The real rows, one sequence per batch row (or document).
struct RaggedBatch {
  std::vector<std::int32_t> tokens;
  std::vector<float> embeddings;
  std::vector<std::int32_t> positions;
  std::vector<std::int32_t> columns;      // [rows]: past_columns + column in the padded row
  std::vector<std::int64_t> row_counts;   // [sequences]
  std::vector<std::int64_t> source_rows;  // [rows]: index batch_row * length + column
};

// Error{invalid_argument} when the sizes of the arrays do not fit, naming both, or for a mask that
// is neither 0 nor 1.
void check_padded(const PaddedBatch& padded);

// Errors: those of check_padded; invalid_argument for an id or a position beyond 32 bits.
RaggedBatch make_ragged(const PaddedBatch& padded);

// Sequences of different lengths as a rectangle, padded on the right with `pad_id`.
struct PaddedTokens {
  std::int64_t batch = 0;
  std::int64_t length = 0;
  std::vector<std::int64_t> tokens;
  std::vector<std::int64_t> mask;

  // Refers to this object.
  PaddedBatch view() const;
};
PaddedTokens pad_sequences(std::span<const std::vector<std::int32_t>> sequences,
                           std::int32_t pad_id);

}  // namespace linnet
