#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "base/error.h"
#include "engine/logits.h"
#include "tensor/functions.h"

namespace linnet {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
using Row = std::vector<float>;

// The rule of keep_top_p read word for word, with a stable sort of everything.
Row top_p_by_definition(const Row& scores, float p) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] < scores[b]; });
  const float top = scores[order.back()];
  const auto weight = [&](std::size_t id) {
    return scores[id] == kRemoved ? 0.0f : exp_f32(scores[id] - top);
  };
  float total = 0;
  for (const std::size_t id : order) total += weight(id);
  Row out = scores;
  float running = 0;
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    running += weight(order[i]) / total;
    if (running <= 1.0f - p) out[order[i]] = kRemoved;
  }
  return out;
}

Row top_k_by_definition(const Row& scores, std::size_t k) {
  Row sorted = scores;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  Row out = scores;
  for (float& score : out) {
    if (k > 0 && k <= sorted.size() && score < sorted[k - 1]) score = kRemoved;
  }
  return out;
}

Row random_row(std::mt19937& random, std::size_t vocab, bool ties) {
  std::normal_distribution<float> normal(0, 3);
  Row row(vocab);
  for (float& score : row) score = ties ? std::round(normal(random)) : normal(random);
  for (std::size_t i = 0; i < vocab / 5; ++i) row[random() % vocab] = kRemoved;
  row[random() % vocab] = -0.0f;
  row[random() % vocab] = 0.0f;
  return row;
}

TEST_CASE("repetition penalty multiplies negative scores and divides others") {
  Row row = {2, -1, 0.5f};
  penalize_repetition(row, std::vector<TokenId>{0, 1}, 2);
  CHECK(row == Row{1, -2, 0.5f});
  Row same = {2, -1, 0.5f};
  penalize_repetition(same, std::vector<TokenId>{0, 1, 2}, 1);
  CHECK(same == Row{2, -1, 0.5f});
}

TEST_CASE("temperature") {
  Row row = {1000, 999};
  divide_by_temperature(row, 1e-4f);
  CHECK(row[0] > row[1]);
  Row warm = {1000, 999};
  divide_by_temperature(warm, 1e6f);
  Row p;
  probabilities(warm, p);
  CHECK(p[0] == doctest::Approx(0.5).epsilon(1e-5));
  Row one = {1.25f, -3};
  divide_by_temperature(one, 1);
  CHECK(one == Row{1.25f, -3});
}

TEST_CASE("infinite scores and overflow leave the largest only") {
  Row infinite = {1, kInfinity, kRemoved, kInfinity};
  divide_by_temperature(infinite, 1);
  CHECK(infinite == Row{kRemoved, 0, kRemoved, 0});
  Row large = {3e38f, 2e38f, -3e38f};
  divide_by_temperature(large, 1e-3f);
  CHECK(large == Row{0, kRemoved, kRemoved});
  Row low = {-3e38f, -2e38f};
  divide_by_temperature(low, 1e-3f);
  CHECK(low == Row{kRemoved, 0});
}

TEST_CASE("top_k keeps ties with the k-th") {
  Row row = {1, 3, 2, 2, 0};
  keep_top_k(row, 2);
  CHECK(row == Row{kRemoved, 3, 2, 2, kRemoved});
  Row off = {1, 3, 2};
  keep_top_k(off, 0);
  CHECK(off == Row{1, 3, 2});
  keep_top_k(off, 99);
  CHECK(off == Row{1, 3, 2});
}

TEST_CASE("top_p of .1 .2 .3 .4") {
  const Row logs = {std::log(0.1f), std::log(0.2f), std::log(0.3f), std::log(0.4f)};
  for (const float p : {0.65f, 0.5f}) {
    Row row = logs;
    keep_top_p(row, p);
    CHECK(row == Row{kRemoved, kRemoved, logs[2], logs[3]});
  }
  Row one = logs;
  keep_top_p(one, 1e-9f);
  CHECK(one == Row{kRemoved, kRemoved, kRemoved, logs[3]});
  Row all = logs;
  keep_top_p(all, 1);
  CHECK(all == logs);
  Row equal = {0, 0, 0, 0};  // ties: the last ids stay
  keep_top_p(equal, 0.4f);
  CHECK(equal == Row{kRemoved, kRemoved, 0, 0});
}

TEST_CASE("min_p") {
  Row row = {0, std::log(0.04f), std::log(0.06f), kRemoved};
  keep_min_p(row, 0.05f);
  CHECK(row == Row{0, kRemoved, std::log(0.06f), kRemoved});
  Row ones = {2, 2, 1};
  keep_min_p(ones, 1);
  CHECK(ones == Row{2, 2, kRemoved});
}

TEST_CASE("quick selections equal their definitions on rows of any size") {
  std::mt19937 random(7);
  for (const std::size_t vocab : {1, 2, 17, 300, 5000, 9001}) {
    for (const bool ties : {false, true}) {
      const Row row = random_row(random, vocab, ties);
      for (const float p : {0.05f, 0.5f, 0.9f, 0.999f}) {
        CAPTURE(vocab);
        CAPTURE(p);
        Row quick = row;
        keep_top_p(quick, p);
        CHECK(quick == top_p_by_definition(row, p));
      }
      for (const std::size_t k : {std::size_t{1}, std::size_t{2}, vocab / 2, vocab}) {
        Row quick = row;
        keep_top_k(quick, static_cast<std::int64_t>(k));
        CHECK(quick == top_k_by_definition(row, k));
      }
    }
  }
}

TEST_CASE("broken logits are an error that says where") {
  CHECK_THROWS_WITH_AS(check_logits(Row{0, NAN, 1}), doctest::Contains("id 1"), Error);
  CHECK_THROWS_AS(check_logits(Row{kRemoved, kRemoved}), Error);
  CHECK_THROWS_AS(check_logits(Row{}), Error);
  CHECK_NOTHROW(check_logits(Row{kRemoved, kInfinity}));
}

TEST_CASE("log-probabilities are those of the raw logits") {
  const auto logs = log_probabilities(Row{2, 1, 0});
  CHECK(logs[0] == doctest::Approx(-0.4076).epsilon(1e-4));
  CHECK(logs[1] == doctest::Approx(-1.4076).epsilon(1e-4));
  CHECK(logs[2] == doctest::Approx(-2.4076).epsilon(1e-4));
  CHECK(log_probabilities(Row{0, kRemoved}) == Row{0, kRemoved});
}

}  // namespace
}  // namespace linnet
