// Inputs of like length together, so that padding them wastes little and compiled shapes are few.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace linnet {

struct LengthBatch {
  std::size_t length = 0;           // of the bucket: what the inputs are to be padded to
  std::vector<std::size_t> places;  // of the inputs, as indices
};

// Each input goes to the smallest bucket that it fits into. Batches come in the order of buckets,
// with at most `max_rows` inputs each, in their order; empty ones are left out.
// Error{invalid_argument}: no bucket, one of length 0, max_rows 0, or an input (named) that is
// longer than all of them.
std::vector<LengthBatch> bucket_by_length(std::span<const std::size_t> lengths,
                                          std::vector<std::size_t> buckets, std::size_t max_rows);

// The results of all batches in the order of the inputs: results[b][i] is that of places[i] of
// batch b. The numbers must agree with the batches.
template <typename Result>
std::vector<Result> in_input_order(std::span<const LengthBatch> batches,
                                   std::vector<std::vector<Result>> results) {
  std::size_t count = 0;
  for (const LengthBatch& batch : batches) count += batch.places.size();
  std::vector<Result> ordered(count);
  for (std::size_t b = 0; b < batches.size(); ++b) {
    for (std::size_t i = 0; i < batches[b].places.size(); ++i) {
      ordered.at(batches[b].places[i]) = std::move(results.at(b).at(i));
    }
  }
  return ordered;
}

}  // namespace linnet
