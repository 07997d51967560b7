#include <doctest/doctest.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <random>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "engine/sampler.h"

namespace linnet {
namespace {

using Row = std::vector<float>;

GenerationConfig sampling(float temperature) {
  GenerationConfig config;
  config.sample = true;
  config.temperature = temperature;
  return config;
}

std::vector<TokenId> choose_many(const GenerationConfig& config, std::uint64_t seed,
                                 const Row& logits, int count) {
  Sampler sampler(config, seed, 0);
  std::vector<TokenId> ids;
  for (int i = 0; i < count; ++i) {
    ids.push_back(sampler.choose(logits).id);
    sampler.see({&ids.back(), 1});
  }
  return ids;
}

TEST_CASE("golden draws from .1 .2 .3 .4") {
  const Json golden = Json::parse_file(LINNET_SOURCE_DIR "/tests/golden/sampler_golden.json");
  REQUIRE(golden.at("cases").size() == 6);
  for (const Json& test_case : golden.at("cases").as_array()) {
    const std::string& text = test_case.at("seed").as_string();
    std::uint64_t seed = 0;
    std::from_chars(text.data(), text.data() + text.size(), seed);
    Row logits;
    for (const Json& p : test_case.at("probs").as_array()) {
      logits.push_back(std::log(static_cast<float>(p.as_double())));
    }
    Sampler sampler(sampling(1), seed, 0);
    for (std::size_t step = 0; step < 8; ++step) {
      CAPTURE(text);
      CAPTURE(step);
      const Choice choice = sampler.choose(logits);
      sampler.see({&choice.id, 1});
      CHECK(choice.id == test_case.at("ids").as_array()[step].as_int());
      CHECK(choice.uniform ==
            static_cast<float>(test_case.at("uniform").as_array()[step].as_double()));
      const auto id = static_cast<std::size_t>(choice.id);
      CHECK(choice.probability ==
            doctest::Approx(test_case.at("probs").as_array()[id].as_double()));
    }
  }
}

TEST_CASE("greedy takes the first of the largest") {
  CHECK(Sampler({}, 0).choose(Row{1, 3, 3, 2}).id == 1);
  for (const float temperature : {0.0f, 1e-7f, 1e-6f}) {
    CHECK(choose_many(sampling(temperature), 5, Row{999, 1000, 1000}, 20) ==
          std::vector<TokenId>(20, 1));
  }
}

TEST_CASE("tiny and giant temperatures") {
  CHECK(choose_many(sampling(1e-4f), 1, Row{1000, 999}, 50) == std::vector<TokenId>(50, 0));
  const auto warm = choose_many(sampling(1e6f), 1, Row{1000, 999}, 400);
  const auto zeros = std::count(warm.begin(), warm.end(), 0);
  CHECK(zeros > 140);
  CHECK(zeros < 260);
}

TEST_CASE("broken logits are refused by greedy choice and by draws") {
  for (const GenerationConfig& config : {GenerationConfig{}, sampling(1)}) {
    Sampler sampler(config, 0);
    CHECK_THROWS_WITH_AS(sampler.choose(Row{1, NAN}), doctest::Contains("id 1"), Error);
    CHECK_THROWS_WITH_AS(sampler.choose(Row{INFINITY, 1}), doctest::Contains("id 0"), Error);
    CHECK_THROWS_AS(sampler.choose(Row{-INFINITY, -INFINITY}), Error);
    CHECK_THROWS_AS(sampler.choose(Row{}), Error);
    CHECK(sampler.choose(Row{-INFINITY, 2}).id == 1);
  }
}

TEST_CASE("removed ids are never drawn") {
  const auto ids = choose_many(sampling(2), 9, Row{-INFINITY, 0, -INFINITY, 1, -INFINITY}, 300);
  CHECK(std::set<TokenId>(ids.begin(), ids.end()) == std::set<TokenId>{1, 3});
}

TEST_CASE("the penalty counts an id once, whoever used it") {
  GenerationConfig config;
  config.repetition_penalty = 2;
  Sampler sampler(config, 0);
  sampler.see(std::vector<TokenId>{0, 0, 0});
  CHECK(sampler.choose(Row{3, 1, 1.6f}).id == 2);     // 1.5, 1, 1.6
  CHECK(sampler.choose(Row{3.5f, 1, 1.6f}).id == 0);  // 1.75: not divided three times
  sampler.see(std::vector<TokenId>{1});
  CHECK(sampler.choose(Row{-1, -1, -1.5f}).id == 2);  // -2, -2, -1.5
}

TEST_CASE("seeds differ, a seed repeats, top_p near 0 is greedy") {
  const Row logits(50, 0.0f);
  CHECK(choose_many(sampling(1), 1, logits, 20) == choose_many(sampling(1), 1, logits, 20));
  CHECK(choose_many(sampling(1), 1, logits, 20) != choose_many(sampling(1), 2, logits, 20));
  GenerationConfig config = sampling(1);
  config.top_p = 0.01f;
  CHECK(choose_many(config, 4, Row{0, 0.5f, 0.2f}, 30) == std::vector<TokenId>(30, 1));
}

TEST_CASE("a whole vocabulary and a selection of it give the same token") {
  // Without ids outside of the selection, the sums are the same: removed ids add nothing.
  Row few(64), many(128256, -INFINITY);
  for (std::size_t i = 0; i < few.size(); ++i) {
    few[i] = std::sin(static_cast<float>(i) * 1.7f) * 4;
    many[i * 2000] = few[i];
  }
  GenerationConfig config = sampling(0.8f);
  config.top_p = 0.9f;
  config.min_p = 0.01f;
  Sampler a(config, 11), b(config, 11);
  a.see({});
  b.see({});
  for (int i = 0; i < 10; ++i) {
    const TokenId id = a.choose(few).id;
    CHECK(id * 2000 == b.choose(many).id);
    a.see({&id, 1});
    b.see({&id, 1});
  }
}

// Rows of logits for the places of an answer, whatever the ids are.
Row row_at(std::size_t place, std::size_t vocab) {
  std::mt19937 random(static_cast<std::uint32_t>(place));
  std::normal_distribution<float> normal(0, 2);
  Row row(vocab);
  for (float& logit : row) logit = normal(random);
  return row;
}

// Everything at once that depends on ids or on draws.
GenerationConfig busy_config() {
  GenerationConfig config = sampling(0.9f);
  config.dynatemp_range = 0.2f;
  config.top_k = 40;
  config.top_p = 0.97f;
  config.xtc_probability = 0.5f;
  config.xtc_threshold = 0.05f;
  config.repetition_penalty = 1.2f;
  config.presence_penalty = 0.3f;
  config.frequency_penalty = 0.1f;
  config.no_repeat_ngram_size = 4;
  config.dry_multiplier = 0.5f;
  config.dry_allowed_length = 1;
  config.sequence_bias = {{{3}, 1}, {{4, 5}, 2}};
  config.stop_ids = {1};
  config.min_new_tokens = 20;
  config.length_decay = {25, 1.1f};
  config.forced_tokens = {{17, 9}};
  return config;
}

TEST_CASE("a sampler made anew at any place goes on as the old one would have") {
  constexpr std::size_t kVocab = 60, kSteps = 60;
  GenerationConfig config = busy_config();
  const std::vector<TokenId> prompt = {7, 8, 9, 7, 8};
  for (const std::uint64_t seed : {0, 1, 99}) {
    std::vector<TokenId> ids = prompt;
    Sampler old(config, seed, prompt.size());
    old.see(prompt);
    for (std::size_t step = 0; step < kSteps; ++step) {
      const Row row = row_at(step, kVocab);
      const Choice choice = old.choose(row);
      CHECK(old.choose(row).id == choice.id);  // choosing changes nothing
      Sampler anew(config, seed, prompt.size());
      anew.see(ids);
      const Choice same = anew.choose(row);
      Sampler by_default(config, seed);
      by_default.see(prompt);
      by_default.see(std::span(ids).subspan(prompt.size()));
      Sampler copy = old;
      for (const Choice& other : {same, by_default.choose(row), copy.choose(row)}) {
        CHECK(other.id == choice.id);
        CHECK(other.probability == choice.probability);
        CHECK(other.uniform == choice.uniform);
      }
      // Now and then another id comes, as a grammar or a draft would force it.
      ids.push_back(step % 7 == 6 ? 11 : choice.id);
      old.see({&ids.back(), 1});
    }
    CHECK(ids[17] == 9);
  }
}

TEST_CASE("XTC does not move the draws of the choice") {
  GenerationConfig with = sampling(1), without = sampling(1);
  with.xtc_probability = 0.5f;
  with.xtc_threshold = 0.1f;
  const Row row = {std::log(0.4f), std::log(0.3f), std::log(0.2f), std::log(0.1f)};
  Sampler a(with, 5, 0), b(without, 5, 0);
  int excluded = 0;
  for (int i = 0; i < 400; ++i) {
    const Choice one = a.choose(row), other = b.choose(row);
    CHECK(one.uniform == other.uniform);
    if (one.probability > 0.9f) {
      CHECK(one.id == 3);
      ++excluded;
    } else {
      CHECK(one.id == other.id);
    }
    a.see({&other.id, 1});
    b.see({&other.id, 1});
  }
  CHECK(excluded > 160);
  CHECK(excluded < 240);
}

TEST_CASE("mirostat comes to its aim") {
  for (const std::int64_t version : {1, 2}) {
    GenerationConfig config = sampling(1);
    config.mirostat = version;
    config.mirostat_tau = 3;
    Sampler sampler(config, 1, 0);
    double surprise = 0;
    for (std::size_t step = 0; step < 1200; ++step) {
      const Choice choice = sampler.choose(row_at(step, 3000));
      if (step >= 200) surprise -= std::log2(choice.probability);
      sampler.see({&choice.id, 1});
    }
    CAPTURE(version);
    CHECK(surprise / 1000 == doctest::Approx(3).epsilon(0.1));
  }
}

TEST_CASE("greedy choice sees penalties and users' processors, not filters") {
  GenerationConfig config;
  config.top_k = 1;
  config.temperature = 0.5f;
  Sampler sampler(config, 0, 0);
  float seen = 0;
  sampler.add(
      callback_processor([&](std::span<const TokenId>, std::size_t, std::span<float> scores) {
        seen = scores[1];
        scores[1] = 100;
      }));
  CHECK(sampler.choose(Row{3, 1, 2}).id == 1);
  CHECK(seen == 2);  // divided by the temperature, not removed by top_k
}

TEST_CASE("texts of breakers need a tokenizer") {
  GenerationConfig config;
  config.dry_breaker_texts = {"x"};
  CHECK_NOTHROW(Sampler(config, 0, 0));  // DRY is off
  config.dry_multiplier = 1;
  CHECK_THROWS_WITH_AS(Sampler(config, 0, 0), doctest::Contains("dry_sequence_breakers"), Error);
}

}  // namespace
}  // namespace linnet
