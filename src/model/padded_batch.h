// The border between padded rectangles and ragged rows: an API that takes [batch, length] arrays
// with a mask converts here; behind it no padding exists.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "program/reference_lane.h"

namespace linnet {

// Arrays of [batch, length]; a row of the mask may have zeros anywhere. Positions are 0..length-1
// when absent. Exactly one of tokens and embeddings ([batch, length, hidden]).
struct PaddedBatch {
  std::int64_t batch = 0;
  std::int64_t length = 0;
  std::int64_t hidden = 0;
  std::span<const std::int64_t> tokens;
  std::span<const float> embeddings;
  std::span<const std::int64_t> mask;  // 1: a real token
  std::span<const std::int64_t> positions;
};

// The real rows of the columns [first_column, last_column), one sequence per batch row.
struct RaggedBatch {
  std::vector<std::int32_t> tokens;
  std::vector<float> embeddings;
  std::vector<std::int32_t> positions;
  std::vector<std::int32_t> columns;      // [rows]: of the padded row
  std::vector<std::int64_t> row_counts;   // [batch]: rows of each sequence
  std::vector<std::int64_t> source_rows;  // [rows]: index batch_row * length + column
};

// Errors: invalid_argument when the sizes of the arrays do not fit, naming both.
RaggedBatch make_ragged(const PaddedBatch& padded, std::int64_t first_column,
                        std::int64_t last_column);

}  // namespace linnet
