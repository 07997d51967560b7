#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "base/error.h"
#include "engine/generation.h"
#include "engine/logits.h"
#include "engine/processors_history.h"

namespace linnet {
namespace {

using Ids = std::vector<TokenId>;
using Row = std::vector<float>;

Row processed(const GenerationConfig& config, const Ids& ids, Row row,
              std::size_t prompt_length = 0) {
  ProcessorChain(config).process(ids, prompt_length, row);
  return row;
}

TEST_CASE("the repetition penalty multiplies negative scores and divides others, once") {
  GenerationConfig config;
  config.repetition_penalty = 2;
  CHECK(processed(config, {0, 1, 0, 0}, {2, -1, 0.5f}, 2) == Row{1, -2, 0.5f});
  CHECK(processed(config, {}, {2, -1, 0.5f}) == Row{2, -1, 0.5f});
  config.repetition_penalty = 1;
  CHECK(ProcessorChain(config).empty());
}

TEST_CASE("presence and frequency count the answer alone") {
  GenerationConfig config;
  config.presence_penalty = 1;
  config.frequency_penalty = 0.25f;
  CHECK(processed(config, {0, 0, 1, 2, 2}, {3, 3, 3}, 3) == Row{3, 3, 1.5f});
  CHECK(processed(config, {0, 0, 1}, {3, 3, 3}, 3) == Row{3, 3, 3});
}

TEST_CASE("biases: one id always, a sequence where the text ends with its beginning") {
  GenerationConfig config;
  config.sequence_bias = {{{0}, 1}, {{1, 2}, 5}, {{0, 1, 3}, -INFINITY}};
  CHECK(processed(config, {1}, {0, 0, 0, 0}) == Row{1, 0, 5, 0});
  CHECK(processed(config, {0, 1}, {0, 0, 0, 0}) == Row{1, 0, 5, kRemoved});
  CHECK(processed(config, {2}, {0, 0, kRemoved, 0}) == Row{1, 0, kRemoved, 0});
  CHECK(processed(config, {}, {0, 0, 0, 0}) == Row{1, 0, 0, 0});
  config.sequence_bias = {{{4}, 1}};
  CHECK_THROWS_WITH_AS(processed(config, {}, {0, 0}), doctest::Contains("sequence_bias: 4"), Error);
}

TEST_CASE("lengths: no stop id until the least, a likelier one after the start") {
  GenerationConfig config;
  config.stop_ids = {1, 77};  // the second is not in the row
  config.min_new_tokens = 2;
  const Row row = {1, -2, 3};
  const Row banned = {1, kRemoved, 3};
  CHECK(processed(config, {0, 0, 0}, row, 2) == banned);
  CHECK(processed(config, {0, 0, 0, 0}, row, 2) == row);
  config.min_new_tokens = 0;
  config.min_length = 4;
  CHECK(processed(config, {0, 0, 0}, row, 2) == banned);
  CHECK(processed(config, {0, 0, 0, 0}, row, 2) == row);
  config.length_decay = {1, 2};
  CHECK(processed(config, {0, 0, 0}, row, 0) == banned);           // removed stays removed
  CHECK(processed(config, {0, 0, 0, 0}, row, 3) == row);           // the start itself
  CHECK(processed(config, {0, 0, 0, 0}, row, 1) == Row{1, 4, 3});  // -2 + 2 (2^2 - 1)
}

TEST_CASE("forced ids win, over suppressed ones too") {
  GenerationConfig config;
  config.suppress_tokens = {1};
  config.begin_suppress_tokens = {0};
  CHECK(processed(config, {5, 5}, {1, 2, 3}, 2) == Row{kRemoved, kRemoved, 3});
  CHECK(processed(config, {5, 5, 5}, {1, 2, 3}, 2) == Row{1, kRemoved, 3});
  config.forced_bos = 1;
  CHECK(processed(config, {5}, {1, 2, 3}, 1) == Row{kRemoved, 0, kRemoved});
  config.forced_eos = {0, 1};
  config.max_new_tokens = 2;
  CHECK(processed(config, {5, 5, 5}, {1, 2, 3}, 2) == Row{0, 0, kRemoved});
  CHECK(processed(config, {5, 5, 5, 5}, {1, 2, 3}, 2) == Row{1, kRemoved, 3});
  config.max_new_tokens = -1;
  config.max_length = 5;
  CHECK(processed(config, {5, 5, 5, 5}, {1, 2, 3}, 2) == Row{0, 0, kRemoved});
  config.forced_tokens = {{4, 2}, {6, 0}};
  CHECK(processed(config, {5, 5, 5, 5}, {1, 2, 3}, 2) == Row{kRemoved, kRemoved, 0});
}

// The rules, read word for word; quadratic.
Row plain_no_repeat(const Ids& ids, std::size_t length, Row row) {
  for (std::size_t end = length; end <= ids.size(); ++end) {
    const auto same = std::equal(ids.begin() + static_cast<std::ptrdiff_t>(end - length),
                                 ids.begin() + static_cast<std::ptrdiff_t>(end - 1),
                                 ids.end() - static_cast<std::ptrdiff_t>(length - 1));
    if (same) row[static_cast<std::size_t>(ids[end - 1])] = kRemoved;
  }
  return row;
}

Row plain_dry(const GenerationConfig& config, Ids ids, Row row) {
  if (config.dry_range >= 0 && static_cast<std::int64_t>(ids.size()) > config.dry_range) {
    ids.erase(ids.begin(), ids.end() - config.dry_range);
  }
  const auto is_breaker = [&](TokenId id) {
    return std::count(config.dry_breaker_ids.begin(), config.dry_breaker_ids.end(), id) > 0;
  };
  std::map<TokenId, std::size_t> longest;
  for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
    std::size_t n = 0;
    while (n <= i && i < ids.size() - 1 - n && ids[i - n] == ids[ids.size() - 1 - n] &&
           !is_breaker(ids[i - n])) {
      ++n;
    }
    longest[ids[i + 1]] = std::max(longest[ids[i + 1]], n);
  }
  for (const auto& [id, n] : longest) {
    if (static_cast<std::int64_t>(n) < config.dry_allowed_length) continue;
    const double power =
        whole_power(config.dry_base, n - static_cast<std::size_t>(config.dry_allowed_length));
    float& score = row[static_cast<std::size_t>(id)];
    score = static_cast<float>(score - std::min(config.dry_multiplier * power, 1e30));
  }
  return row;
}

TEST_CASE("repetitions are found as their rules say, in texts of few ids") {
  std::mt19937 random(1);
  for (int round = 0; round < 400; ++round) {
    const std::size_t vocab = 1 + random() % 5;
    Ids ids(random() % 40);
    for (TokenId& id : ids) id = static_cast<TokenId>(random() % vocab);
    const Row row(vocab + 1, 1.0f);
    GenerationConfig config;
    config.no_repeat_ngram_size = 1 + random() % 5;
    CHECK(processed(config, ids, row) ==
          plain_no_repeat(ids, static_cast<std::size_t>(config.no_repeat_ngram_size), row));
    config = {};
    config.dry_multiplier = 0.5f;
    config.dry_base = 1.5f;
    config.dry_allowed_length = 1 + random() % 3;
    if (random() % 2 == 0) config.dry_range = random() % 30;
    if (random() % 2 == 0) config.dry_breaker_ids = {0, 3};
    CHECK(processed(config, ids, row) == plain_dry(config, ids, row));
  }
}

TEST_CASE("long texts of one id cost no more than others, and stay finite") {
  const Ids ids(200000, 1);
  GenerationConfig config;
  config.dry_multiplier = 1;
  config.no_repeat_ngram_size = 100000;
  const Row row = processed(config, ids, {0, 1, 2});
  CHECK(row == Row{0, kRemoved, 2});
  config.no_repeat_ngram_size = 0;
  CHECK(processed(config, ids, {0, 1, 2}) == Row{0, -1e30f, 2});
}

TEST_CASE("suffix lengths are those of comparing") {
  std::mt19937 random(2);
  std::vector<std::uint32_t> lengths;
  for (int round = 0; round < 300; ++round) {
    Ids ids(1 + random() % 50);
    for (TokenId& id : ids) id = static_cast<TokenId>(random() % 2);
    const std::size_t most = 1 + random() % 10;
    suffix_lengths(ids, most, lengths);
    REQUIRE(lengths.size() == ids.size());
    for (std::size_t d = 1; d < ids.size(); ++d) {
      std::size_t n = 0;
      while (n < most && d + n < ids.size() &&
             ids[ids.size() - 1 - n] == ids[ids.size() - 1 - d - n]) {
        ++n;
      }
      CHECK(lengths[d] == n);
    }
  }
}

TEST_CASE("powers") {
  CHECK(whole_power(2, 10) == 1024);
  CHECK(whole_power(0.5, 3) == 0.125);
  CHECK(whole_power(7, 0) == 1);
  CHECK(whole_power(1.75, 1u << 30) == 1e30);
}

TEST_CASE("processors keep up with a text that grows, and copies go their own way") {
  GenerationConfig config;
  config.repetition_penalty = 2;
  config.frequency_penalty = 1;
  config.dry_multiplier = 1;
  config.no_repeat_ngram_size = 3;
  std::mt19937 random(3);
  ProcessorChain chain(config);
  Ids ids;
  for (int step = 0; step < 60; ++step) {
    ids.push_back(static_cast<TokenId>(random() % 6));
    ProcessorChain copy = chain;
    Ids other = ids;
    other.push_back(5);
    Row a(8, 1), b = a, c = a, d = a;
    chain.process(ids, 2, a);
    ProcessorChain(config).process(ids, 2, b);
    CHECK(a == b);
    copy.process(other, 2, c);
    ProcessorChain(config).process(other, 2, d);
    CHECK(c == d);
  }
}

TEST_CASE("a user's processors come last, with their own state in each clone") {
  struct CountCalls final : LogitsProcessor {
    int calls = 0;
    void process(std::span<const TokenId>, std::size_t, std::span<float> scores) override {
      scores[0] = static_cast<float>(++calls);
    }
    std::unique_ptr<LogitsProcessor> clone() const override {
      return std::make_unique<CountCalls>(*this);
    }
  };
  GenerationConfig config;
  config.sample = true;
  config.top_k = 1;
  config.processors.push_back(std::make_shared<CountCalls>());
  ProcessorChain chain(config);
  std::size_t seen = 0, prompt = 0;
  chain.add(callback_processor(
      [&](std::span<const TokenId> ids, std::size_t prompt_length, std::span<float> scores) {
        seen = ids.size();
        prompt = prompt_length;
        CHECK(scores[1] == kRemoved);  // by top_k
        scores[1] = 9;
      }));
  Row row = {1, 2, 3};
  chain.process(Ids{7, 8, 9}, 2, row);
  CHECK(row == Row{1, 9, 3});
  CHECK(seen == 3);
  CHECK(prompt == 2);
  ProcessorChain copy = chain;
  for (ProcessorChain* each : {&chain, &copy}) {
    row = {1, 2, 3};
    each->process(Ids{7, 8, 9}, 2, row);
    CHECK(row[0] == 2);
  }
  row = {1, 2, 3};
  ProcessorChain(config).process({}, 0, row);
  CHECK(row[0] == 1);
}

TEST_CASE("a user's processor that makes nonsense is an error") {
  const auto run = [](const LogitsCallback& callback) {
    ProcessorChain chain{GenerationConfig()};
    chain.add(callback_processor(callback));
    Row row = {1, 2, 3};
    chain.process({}, 0, row);
    return row;
  };
  using Ids_ = std::span<const TokenId>;
  CHECK_THROWS_WITH_AS(run([](Ids_, std::size_t, std::span<float> scores) { scores[1] = NAN; }),
                       doctest::Contains("id 1"), Error);
  CHECK_THROWS_WITH_AS(run([](Ids_, std::size_t, std::span<float> scores) {
                         std::fill(scores.begin(), scores.end(), kRemoved);
                       }),
                       doctest::Contains("removed every id"), Error);
  CHECK_THROWS_AS(run([](Ids_, std::size_t, std::span<float>) { throw std::runtime_error("x"); }),
                  std::runtime_error);
  // Infinite for two: they alone stay.
  CHECK(run([](Ids_, std::size_t, std::span<float> scores) { scores[0] = scores[2] = INFINITY; }) ==
        Row{0, kRemoved, 0});
}

TEST_CASE("nothing left is an error that says why") {
  GenerationConfig config;
  config.suppress_tokens = {0, 1};
  CHECK_THROWS_WITH_AS(processed(config, {}, {1, 2}), doctest::Contains("removed every id"), Error);
}

}  // namespace
}  // namespace linnet
