#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/error.h"
#include "engine/contrastive.h"

namespace linnet {
namespace {

using Row = std::vector<float>;

Row random_row(std::size_t count, std::mt19937& random) {
  std::normal_distribution<float> normal(0, 1);
  Row row(count);
  for (float& value : row) value = normal(random);
  return row;
}

Row random_probabilities(std::size_t vocab, std::mt19937& random) {
  Row row = random_row(vocab, random);
  float total = 0;
  for (float& value : row) total += value = std::exp(2 * value);
  for (float& value : row) value /= total;
  return row;
}

double cosine(const float* a, const float* b, std::size_t width) {
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < width; ++i) {
    ab += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    aa += static_cast<double>(a[i]) * static_cast<double>(a[i]);
    bb += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return aa == 0 || bb == 0 ? 0 : ab / std::sqrt(aa * bb);
}

TEST_CASE("candidates are the likeliest, the first of equals first") {
  ContrastiveSearch search({3, 0.5f}, 4);
  const auto ids = search.candidates(Row{0.1f, 0.2f, 0.1f, 0.3f, 0.2f, 0.1f});
  CHECK(std::vector<TokenId>(ids.begin(), ids.end()) == std::vector<TokenId>{3, 1, 4});
  const auto few = search.candidates(Row{0, 0.5f, 0, 0.5f});
  CHECK(std::vector<TokenId>(few.begin(), few.end()) == std::vector<TokenId>{1, 3});
}

TEST_CASE("alpha weighs likeness against probability") {
  const Row context = {1, 0, 0, 2}, hidden = {3, 0, 0, 6, 0, 1, 0, 0};
  const Row probabilities = {0.7f, 0.3f};
  const auto choose = [&](float alpha) {
    ContrastiveSearch search({2, alpha}, 4);
    search.see(context);
    search.candidates(probabilities);
    return search.choose(hidden);
  };
  CHECK(choose(0).id == 0);
  CHECK(choose(0).score == 0.7f);
  CHECK(choose(0.6f).id == 1);  // 0.4 * 0.7 - 0.6 * 1 against 0.4 * 0.3 - 0
  CHECK(choose(0.6f).score == doctest::Approx(0.12));
  CHECK(choose(1).id == 1);
}

TEST_CASE("equals the definition over long contexts and many candidates") {
  std::mt19937 random(5);
  for (const std::int64_t top_k : {1, 2, 3, 5, 8}) {
    constexpr std::size_t kWidth = 37, kVocab = 60;
    ContrastiveSearch search({top_k, 0.4f}, kWidth);
    Row context = random_row(3 * kWidth, random);
    search.see(context);
    for (int step = 0; step < 150; ++step) {
      const Row probabilities = random_probabilities(kVocab, random);
      const auto ids = search.candidates(probabilities);
      REQUIRE(ids.size() == static_cast<std::size_t>(top_k));
      const Row hidden = random_row(ids.size() * kWidth, random);
      double best = -1e9;
      for (std::size_t i = 0; i < ids.size(); ++i) {
        double likeness = -1;
        for (std::size_t at = 0; at < context.size(); at += kWidth) {
          likeness = std::max(likeness, cosine(&hidden[i * kWidth], &context[at], kWidth));
        }
        const auto probability =
            static_cast<double>(probabilities[static_cast<std::size_t>(ids[i])]);
        best = std::max(best, 0.6 * probability - 0.4 * likeness);
      }
      const ContrastiveChoice choice = search.choose(hidden);
      CHECK(static_cast<double>(choice.score) == doctest::Approx(best).epsilon(1e-5));
      const auto start = hidden.begin() + static_cast<std::ptrdiff_t>(choice.index * kWidth);
      context.insert(context.end(), start, start + kWidth);
    }
    CHECK(search.context() == 153);
  }
}

TEST_CASE("the context comes in pieces of any size, to the bit") {
  std::mt19937 random(6);
  constexpr std::size_t kWidth = 16, kRows = 200;
  const Row context = random_row(kRows * kWidth, random), hidden = random_row(4 * kWidth, random);
  const Row probabilities = random_probabilities(50, random);
  ContrastiveSearch whole({4, 0.7f}, kWidth), parts({4, 0.7f}, kWidth);
  whole.see(context);
  for (std::size_t row = 0; row < kRows;) {
    const std::size_t count = std::min(kRows - row, std::size_t{random() % 90});
    parts.see(std::span(context).subspan(row * kWidth, count * kWidth));
    row += count;
  }
  whole.candidates(probabilities);
  parts.candidates(probabilities);
  const ContrastiveChoice a = whole.choose(hidden), b = parts.choose(hidden);
  CHECK(a.id == b.id);
  CHECK(a.score == b.score);
}

TEST_CASE("vectors of zeros, tiny and huge ones have a cosine") {
  const float huge = 3e38f, tiny = 1e-38f;
  ContrastiveSearch search({3, 1.0f}, 2);
  search.see(Row{huge, huge});
  search.see(Row{0, 0});
  search.candidates(Row{0.5f, 0.3f, 0.2f});
  const ContrastiveChoice choice = search.choose(Row{tiny, tiny, huge, 0, 0, 0});
  CHECK(choice.id == 2);
  CHECK(choice.score == 0);
  search.candidates(Row{1.0f});
  CHECK(search.choose(Row{tiny, tiny}).score == doctest::Approx(-1));
}

TEST_CASE("of equal scores the likelier candidate wins, of equals the first") {
  ContrastiveSearch search({2, 1.0f}, 2);
  search.see(Row{0, 1});
  search.candidates(Row{0.2f, 0.5f, 0.3f});
  CHECK(search.choose(Row{1, 0, 1, 0}).id == 1);
}

TEST_CASE("no context at all leaves the probabilities") {
  ContrastiveSearch search({2, 0.5f}, 2);
  search.candidates(Row{0.4f, 0.6f});
  CHECK(search.choose(Row{1, 0, 1, 0}).id == 1);
}

TEST_CASE("numbers that are none, and options out of their range, are refused") {
  CHECK_THROWS_WITH_AS((ContrastiveSearch{{0, 0.5f}, 2}), doctest::Contains("top_k is 0"), Error);
  CHECK_THROWS_WITH_AS((ContrastiveSearch{{2, 1.5f}, 2}), doctest::Contains("penalty_alpha"),
                       Error);
  CHECK_THROWS_AS((ContrastiveSearch{{2, std::nanf("")}, 2}), Error);
  ContrastiveSearch search({2, 0.5f}, 2);
  CHECK_THROWS_AS(search.candidates(Row{0.5f, std::nanf("")}), Error);
  CHECK_THROWS_AS(search.candidates(Row{0, 0}), Error);
  CHECK_THROWS_AS(search.candidates(Row{}), Error);
  CHECK_THROWS_AS(search.see(Row{1, std::nanf("")}), Error);
  CHECK_THROWS_AS(search.see(Row{1, std::numeric_limits<float>::infinity()}), Error);
  CHECK_THROWS_AS(search.see(Row{1}), std::logic_error);
}

}  // namespace
}  // namespace linnet
