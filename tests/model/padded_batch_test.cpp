#include "model/padded_batch.h"

#include <doctest/doctest.h>

#include "base/error.h"

using namespace linnet;

TEST_CASE("padding on either side and holes disappear; positions stay") {
  const std::vector<std::int64_t> tokens = {1, 2, 3, 4, 5, 6, 7, 8},
                                  mask = {0, 1, 1, 1, 1, 0, 1, 0};
  PaddedBatch padded;
  padded.batch = 2, padded.length = 4, padded.tokens = tokens, padded.mask = mask;
  const RaggedBatch ragged = make_ragged(padded, 0, 4);
  CHECK(ragged.tokens == std::vector<std::int32_t>{2, 3, 4, 5, 7});
  CHECK(ragged.positions == std::vector<std::int32_t>{1, 2, 3, 0, 2});
  CHECK(ragged.row_counts == std::vector<std::int64_t>{3, 2});
  CHECK(ragged.source_rows == std::vector<std::int64_t>{1, 2, 3, 4, 6});
  const RaggedBatch columns = make_ragged(padded, 1, 2);
  CHECK(columns.tokens == std::vector<std::int32_t>{2});
  CHECK(columns.row_counts == std::vector<std::int64_t>{1, 0});
}

TEST_CASE("arrays that do not fit are named with both sizes") {
  const std::vector<std::int64_t> tokens = {1, 2, 3};
  PaddedBatch padded;
  padded.batch = 2, padded.length = 2, padded.tokens = tokens;
  CHECK_THROWS_WITH_AS(make_ragged(padded, 0, 2), "tokens has 3 numbers, [batch, length] needs 4",
                       Error);
  const std::vector<std::int64_t> large = {1, std::int64_t{1} << 40, 3, 4};
  padded.tokens = large;
  CHECK_THROWS_AS(make_ragged(padded, 0, 2), Error);
}
