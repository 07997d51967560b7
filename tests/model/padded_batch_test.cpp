#include "model/padded_batch.h"

#include <doctest/doctest.h>

#include <string>

#include "base/error.h"
#include "model/pooling.h"

using namespace linnet;

namespace {

PaddedBatch rectangle(std::int64_t batch, std::int64_t length,
                      const std::vector<std::int64_t>& tokens,
                      const std::vector<std::int64_t>& mask = {}) {
  PaddedBatch padded;
  padded.batch = batch, padded.length = length, padded.tokens = tokens, padded.mask = mask;
  return padded;
}

}  // namespace

TEST_CASE("padding on either side and holes disappear; positions stay") {
  const std::vector<std::int64_t> tokens = {1, 2, 3, 4, 5, 6, 7, 8},
                                  mask = {0, 1, 1, 1, 1, 0, 1, 0};
  PaddedBatch padded = rectangle(2, 4, tokens, mask);
  const RaggedBatch ragged = make_ragged(padded);
  CHECK(ragged.tokens == std::vector<std::int32_t>{2, 3, 4, 5, 7});
  CHECK(ragged.positions == std::vector<std::int32_t>{1, 2, 3, 0, 2});
  CHECK(ragged.row_counts == std::vector<std::int64_t>{3, 2});
  CHECK(ragged.source_rows == std::vector<std::int64_t>{1, 2, 3, 4, 6});
  padded.past_columns = 10;
  CHECK(make_ragged(padded).positions == std::vector<std::int32_t>{11, 12, 13, 10, 12});
  CHECK(make_ragged(padded).columns == std::vector<std::int32_t>{11, 12, 13, 10, 12});
}

TEST_CASE("packed documents become sequences that count from 0") {
  const std::vector<std::int64_t> tokens = {1, 2, 3, 4, 5}, lengths = {2, 0, 3};
  PaddedBatch padded = rectangle(1, 5, tokens);
  padded.document_lengths = lengths;
  const RaggedBatch ragged = make_ragged(padded);
  CHECK(ragged.row_counts == std::vector<std::int64_t>{2, 0, 3});
  CHECK(ragged.positions == std::vector<std::int32_t>{0, 1, 0, 1, 2});
}

TEST_CASE("arrays that do not fit are named with both sizes") {
  const std::vector<std::int64_t> three = {1, 2, 3}, four = {1, 2, 3, 4};
  CHECK_THROWS_WITH_AS(make_ragged(rectangle(2, 2, three)),
                       "tokens: found 3 numbers, expected 4 for [2, 2]", Error);
  CHECK_THROWS_WITH_AS(make_ragged(rectangle(2, 2, four, three)),
                       "mask: found 3 numbers, expected 4 for [2, 2]", Error);
  const std::vector<std::int64_t> two = {1, 1, 2, 1};
  CHECK_THROWS_WITH_AS(make_ragged(rectangle(2, 2, four, two)),
                       "mask: found 2 in row 1, column 0, expected 0 or 1", Error);
  const std::vector<std::int64_t> large = {1, std::int64_t{1} << 40, 3, 4};
  CHECK_THROWS_AS(make_ragged(rectangle(2, 2, large)), Error);
  CHECK_THROWS_AS(make_ragged(rectangle(-1, 2, {})), Error);
  CHECK_THROWS_AS(make_ragged(rectangle(std::int64_t{1} << 40, std::int64_t{1} << 40, {})), Error);
  for (const std::vector<std::int64_t>& lengths :
       {std::vector<std::int64_t>{3}, {5}, {-1, 5}, {INT64_MAX, INT64_MAX, 6}}) {
    PaddedBatch padded = rectangle(1, 4, four);
    padded.document_lengths = lengths;
    CHECK_THROWS_AS(make_ragged(padded), Error);
  }
}

TEST_CASE("sequences become a rectangle and come back") {
  const std::vector<std::vector<std::int32_t>> sequences = {{5, 6}, {}, {7, 8, 9}};
  const PaddedTokens padded = pad_sequences(sequences, 1);
  CHECK(padded.tokens == std::vector<std::int64_t>{5, 6, 1, 1, 1, 1, 7, 8, 9});
  const RaggedBatch ragged = make_ragged(padded.view());
  CHECK(ragged.tokens == std::vector<std::int32_t>{5, 6, 7, 8, 9});
  CHECK(ragged.row_counts == std::vector<std::int64_t>{2, 0, 3});
  CHECK(pad_sequences({}, 1).view().length == 0);
}

TEST_CASE("the rules of pooling part where padding or pad ids lie") {
  using Columns = std::vector<std::int64_t>;
  const auto pooled = [](const PaddedBatch& padded, PoolingRule rule) {
    return pooled_columns(padded, rule, 0);
  };
  const auto right = PoolingRule::rightmost_not_pad, count = PoolingRule::count_not_pad,
             unmasked = PoolingRule::rightmost_unmasked;
  // Right padding, left padding, a pad id inside, a pad id at the end that is text, nothing.
  const std::vector<std::int64_t> tokens = {4, 5, 0, 0, 0, 0, 4, 5, 4, 0,
                                            6, 7, 4, 5, 6, 0, 0, 0, 0, 0},
                                  mask = {1, 1, 0, 0, 0, 0, 1, 1, 1, 1,
                                          1, 1, 1, 1, 1, 1, 0, 0, 0, 0};
  const PaddedBatch padded = rectangle(5, 4, tokens, mask);
  CHECK(pooled(padded, right) == Columns{1, 3, 3, 2, -1});
  CHECK(pooled(padded, count) == Columns{1, -1, 2, 2, -1});  // left padding: column 1 is masked
  CHECK(pooled(padded, unmasked) == Columns{1, 3, 3, 3, -1});
  // Without a mask the pad ids alone decide; a row of pad ids only gives column 0.
  CHECK(pooled(rectangle(5, 4, tokens), right) == Columns{1, 3, 3, 2, 0});
  CHECK(pooled(rectangle(5, 4, tokens), count) == Columns{1, 1, 2, 2, 0});
  CHECK(pooled(rectangle(5, 4, tokens), unmasked) == Columns(5, 3));
  // Masked ids that are not the pad id: real tokens decide.
  const std::vector<std::int64_t> other = {4, 5, 9, 9}, half = {1, 1, 0, 0};
  CHECK(pooled(rectangle(1, 4, other, half), right) == Columns{1});
}

TEST_CASE("several rows need a pad id, unless the mask alone decides") {
  const std::vector<std::int64_t> tokens = {4, 5, 6, 7};
  const auto rule = PoolingRule::rightmost_not_pad;
  CHECK(pooled_columns(rectangle(1, 4, tokens), rule, -1) == std::vector<std::int64_t>{3});
  CHECK_THROWS_AS(pooled_columns(rectangle(2, 2, tokens), rule, -1), Error);
  CHECK(pooled_columns(rectangle(2, 2, tokens), PoolingRule::rightmost_unmasked, -1) ==
        std::vector<std::int64_t>{1, 1});
}
