#include "text/length_buckets.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"

namespace linnet {

std::vector<LengthBatch> bucket_by_length(std::span<const std::size_t> lengths,
                                          std::vector<std::size_t> buckets, std::size_t max_rows) {
  std::sort(buckets.begin(), buckets.end());
  if (buckets.empty() || buckets.front() == 0 || max_rows == 0) {
    fail(ErrorCode::invalid_argument,
         "length buckets need at least one bucket, lengths of at least 1, and batches of at least "
         "1 row");
  }
  buckets.erase(std::unique(buckets.begin(), buckets.end()), buckets.end());
  std::vector<std::vector<std::size_t>> places(buckets.size());
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const auto bucket = std::lower_bound(buckets.begin(), buckets.end(), lengths[i]);
    if (bucket == buckets.end()) {
      fail(ErrorCode::invalid_argument,
           fmt::format("input {} has the length {}, the longest bucket {}; truncate it or add a "
                       "bucket",
                       i, lengths[i], buckets.back()));
    }
    places[static_cast<std::size_t>(bucket - buckets.begin())].push_back(i);
  }
  std::vector<LengthBatch> batches;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    for (std::size_t at = 0; at < places[b].size(); at += max_rows) {
      const auto from = places[b].begin() + static_cast<std::ptrdiff_t>(at);
      const std::size_t rows = std::min(max_rows, places[b].size() - at);
      batches.push_back({buckets[b], {from, from + static_cast<std::ptrdiff_t>(rows)}});
    }
  }
  return batches;
}

}  // namespace linnet
