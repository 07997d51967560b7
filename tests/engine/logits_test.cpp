#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/error.h"
#include "engine/logits.h"

namespace linnet {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
using Row = std::vector<float>;

Row random_row(std::mt19937& random, std::size_t vocab) {
  std::normal_distribution<float> normal(0, 3);
  Row row(vocab);
  for (float& score : row) score = normal(random);
  for (std::size_t i = 0; i < vocab / 5; ++i) row[random() % vocab] = kRemoved;
  return row;
}

TEST_CASE("broken logits are an error that says where") {
  CHECK_THROWS_WITH_AS(check_logits(Row{0, NAN, 1}), doctest::Contains("id 1"), Error);
  CHECK_THROWS_WITH_AS(check_logits(Row{kRemoved, kInfinity}), doctest::Contains("id 1"), Error);
  CHECK_THROWS_AS(check_logits(Row{kRemoved, kRemoved}), Error);
  CHECK_THROWS_AS(check_logits(Row{}), Error);
  for (const std::size_t vocab : {1, 15, 16, 33, 5000}) {
    for (const float broken : {NAN, kInfinity, -NAN}) {
      Row row(vocab, kRemoved);
      row[vocab / 2] = 2;
      row.back() = 3;
      CHECK(check_logits(row) == 3);
      row[vocab * 2 / 3] = broken;
      const std::string name = "id " + std::to_string(vocab * 2 / 3) + " ";
      CHECK_THROWS_WITH_AS(check_logits(row), doctest::Contains(name.c_str()), Error);
    }
  }
}

TEST_CASE("the largest, and the first of them") {
  std::mt19937 random(3);
  CHECK(largest_score({}) == kRemoved);
  for (const std::size_t vocab : {1, 2, 63, 64, 65, 1000, 4097}) {
    Row row = random_row(random, vocab);
    CHECK(largest_score(row) == *std::max_element(row.begin(), row.end()));
    row[vocab / 3] = row[vocab / 2] = row.back() = 99;
    CHECK(first_maximum(row) == static_cast<TokenId>(vocab / 3));
  }
}

TEST_CASE("enough scores reach the common bound, and all of them are visited") {
  std::mt19937 random(4);
  Row scratch;
  for (const std::size_t vocab : {1, 7, 200, 5000, 20000}) {
    const Row row = random_row(random, vocab);
    for (const std::size_t count : {1, 5, 20, 300}) {
      const float bound = common_bound(row, count, scratch);
      std::vector<std::size_t> visited, expected;
      for_each_at_least(row, bound, [&](std::size_t i) { visited.push_back(i); });
      for (std::size_t i = 0; i < vocab; ++i) {
        if (row[i] >= bound) expected.push_back(i);
      }
      CHECK(visited == expected);
      CHECK(visited.size() >= std::min(count, vocab));
    }
  }
}

TEST_CASE("sums in lanes and logarithms are near the exact ones") {
  for (const std::size_t count : {0, 1, 7, 8, 9, 1001}) {
    const double sum = lane_sum(count, [](std::size_t i) { return static_cast<double>(i); });
    CHECK(sum == static_cast<double>(count * (count + 1) / 2 - count));
  }
  for (double x = 1e-300; x < 1e300; x *= 1.7) {
    CHECK(std::fabs(natural_log(x) - std::log(x)) <= 1e-15 + 3e-16 * std::fabs(std::log(x)));
  }
  CHECK(natural_log(1) == 0);
}

}  // namespace
}  // namespace linnet
