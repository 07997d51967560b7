#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/error.h"
#include "engine/log_probabilities.h"
#include "engine/logits.h"

namespace linnet {
namespace {

using Row = std::vector<float>;

TEST_CASE("log-probabilities are those of the raw logits") {
  const auto logs = log_probabilities(Row{2, 1, 0});
  CHECK(logs[0] == doctest::Approx(-0.4076).epsilon(1e-4));
  CHECK(logs[1] == doctest::Approx(-1.4076).epsilon(1e-4));
  CHECK(logs[2] == doctest::Approx(-2.4076).epsilon(1e-4));
  CHECK(log_probabilities(Row{0, kRemoved}) == Row{0, kRemoved});
}

TEST_CASE("the likeliest of a row, equals by id, and the chosen one beside them") {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 3);
  for (const std::size_t vocab : {1, 5, 21, 400, 30000}) {
    for (const bool ties : {false, true}) {
      Row row(vocab);
      for (float& x : row) x = ties ? std::round(normal(random)) : normal(random);
      if (vocab > 2) row[1] = kRemoved;
      const auto all = log_probabilities(row);
      double sum = 0;
      for (const float log : all) sum += std::exp(static_cast<double>(log));
      CHECK(sum == doctest::Approx(1).epsilon(1e-6));
      std::vector<TokenId> order(vocab);
      for (std::size_t i = 0; i < vocab; ++i) order[i] = static_cast<TokenId>(i);
      std::stable_sort(order.begin(), order.end(), [&](TokenId a, TokenId b) {
        return row[static_cast<std::size_t>(a)] > row[static_cast<std::size_t>(b)];
      });
      for (const std::size_t top : {0, 1, 5, 20}) {
        const auto chosen = static_cast<TokenId>(vocab - 1);
        const RowLogProbs got = row_log_probabilities(row, chosen, top);
        CHECK(got.chosen == TokenLogProb{chosen, all.back()});
        REQUIRE(got.top.size() == std::min(top, vocab - (vocab > 2 ? 1 : 0)));
        for (std::size_t i = 0; i < got.top.size(); ++i) {
          CHECK(got.top[i] == TokenLogProb{order[i], all[static_cast<std::size_t>(order[i])]});
        }
      }
    }
  }
}

TEST_CASE("all alike: the first ids, at log(1/n)") {
  const RowLogProbs got = row_log_probabilities(Row(1000, 7), 999, 3);
  CHECK(got.top[2].id == 2);
  CHECK(got.chosen.log_probability == doctest::Approx(-std::log(1000.0)));
  CHECK_THROWS_AS(row_log_probabilities(Row{NAN, 1}, 0, 1), Error);
}

}  // namespace
}  // namespace linnet
