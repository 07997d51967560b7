#include "engine/generator.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <thread>

#include "base/error.h"
#include "base/utf8.h"
#include "engine/tiny_model.h"

namespace linnet {
namespace {

using Ids = std::vector<TokenId>;

constexpr std::string_view kQuestion =
    "<|im_start|>user\nHello, who are you?<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n";

Generator tiny_generator() { return Generator(tiny_model(), tiny_tokenizer()); }

Ids question() { return tiny_tokenizer()->encode(kQuestion); }

Ids range(TokenId first, TokenId last) {
  Ids ids;
  for (TokenId id = first; id <= last; ++id) ids.push_back(id);
  return ids;
}

GenerationConfig greedy(std::int64_t max_new_tokens) {
  GenerationConfig config;
  config.max_new_tokens = max_new_tokens;
  return config;
}

// Nearly uniform draws: a difference in the last bits of the logits soon shows.
GenerationConfig hot(std::int64_t max_new_tokens) {
  GenerationConfig config = greedy(max_new_tokens);
  config.sample = true;
  config.temperature = 3;
  config.seed = 17;
  return config;
}

TEST_CASE("events join to the text, which is that of the ids") {
  Generator generator = tiny_generator();
  std::string joined;
  Ids seen;
  GenerateOptions options;
  options.on_token = [&](const TokenEvent& event) {
    CHECK_FALSE(find_invalid_utf8(event.text).has_value());
    joined += event.text;
    seen.push_back(event.id);
  };
  const auto result = generator.generate(question(), hot(40), options);
  CHECK(result.ids.size() == 40);
  CHECK(result.finish == FinishReason::length);
  CHECK(seen == result.ids);
  CHECK(joined == result.text);
  CHECK(result.text == tiny_tokenizer()->decode(result.ids, true));
  CHECK(result.seed == 17);
  CHECK(result.prompt_tokens == static_cast<std::int64_t>(question().size()));
  CHECK(result.prefill_seconds > 0);
  CHECK(result.decode_seconds > 0);
}

TEST_CASE("the time of the prompt is that of its passes") {
  Generator generator = tiny_generator();
  const auto start = Clock::now();
  const auto result = generator.generate(range(1, 1000), greedy(1));
  const double whole = seconds_since(start);
  CHECK(result.prefill_seconds > whole / 2);
  CHECK(result.prefill_seconds + result.decode_seconds + result.queue_seconds <= whole);
}

TEST_CASE("a stop id ends the answer, is counted once and is not shown") {
  Generator generator = tiny_generator();
  const auto whole = generator.generate(question(), greedy(12));
  REQUIRE(whole.ids.size() >= 4);
  auto config = greedy(12);
  config.stop_ids = {5, whole.ids[2]};
  const auto cut = generator.generate(question(), config);
  const auto end = std::find(whole.ids.begin(), whole.ids.end(), whole.ids[2]);
  CHECK(cut.ids == Ids(whole.ids.begin(), end + 1));
  CHECK(cut.text == tiny_tokenizer()->decode(Ids(whole.ids.begin(), end), true));
  CHECK(cut.finish == FinishReason::stop);
}

TEST_CASE("a stop string inside of the answer") {
  Generator generator = tiny_generator();
  auto config = greedy(20);
  config.stop_ids = {6012};
  const auto whole = generator.generate(question(), config);
  REQUIRE(whole.text.size() > 8);
  for (std::size_t at = 1; at + 3 <= whole.text.size(); at += 2) {
    config.stop_strings = {whole.text.substr(at, 3)};
    if (find_invalid_utf8(config.stop_strings[0])) continue;
    std::string joined;
    GenerateOptions options;
    options.on_token = [&](const TokenEvent& event) { joined += event.text; };
    const auto cut = generator.generate(question(), config, options);
    CHECK(cut.text == whole.text.substr(0, whole.text.find(config.stop_strings[0])));
    CHECK(joined == cut.text);
    CHECK(cut.finish == FinishReason::stop);
    CHECK(cut.ids.size() <= whole.ids.size());
  }
}

TEST_CASE("a beginning of a stop string is shown when the answer ends") {
  Generator generator = tiny_generator();
  const auto whole = generator.generate(question(), greedy(6));
  REQUIRE(whole.text.size() > 3);
  auto config = greedy(6);
  config.stop_strings = {whole.text.substr(whole.text.size() - 2) + "never"};
  if (find_invalid_utf8(config.stop_strings[0])) return;
  const auto same = generator.generate(question(), config);
  CHECK(same.text == whole.text);
  CHECK(same.finish == FinishReason::length);
}

TEST_CASE("none and one new token") {
  Generator generator = tiny_generator();
  const auto none = generator.generate(question(), greedy(0));
  CHECK(none.ids.empty());
  CHECK(none.text.empty());
  CHECK(none.finish == FinishReason::length);
  const auto one = generator.generate(question(), greedy(1));
  CHECK(one.ids.size() == 1);
  CHECK(one.finish == FinishReason::length);
  CHECK(one.ids[0] == generator.generate(question(), greedy(3)).ids[0]);
}

TEST_CASE("the context is a limit for prompt and answer") {
  ModelFiles files = open_model_files(tiny_folder());
  files.config.set("max_position_embeddings", 24);
  Generator generator(Model::load(files), tiny_tokenizer());
  const auto full = generator.generate(range(1, 20), greedy(-1));
  CHECK(full.ids.size() == 4);
  CHECK(full.finish == FinishReason::length);
  CHECK(generator.generate(range(1, 23), greedy(50)).ids.size() == 1);
  for (const TokenId length : {24, 25, 300}) {
    CHECK_THROWS_WITH_AS(generator.generate(range(1, length), greedy(1)),
                         doctest::Contains(std::to_string(length).c_str()), Error);
    CHECK_THROWS_WITH_AS(generator.generate(range(1, length), greedy(1)), doctest::Contains("24"),
                         Error);
  }
  CHECK(generator.generate(range(1, 20), greedy(-1)).ids == full.ids);
}

TEST_CASE("wrong prompts and configs") {
  Generator generator = tiny_generator();
  CHECK_THROWS_AS(generator.generate(Ids{}, greedy(1)), Error);
  CHECK_THROWS_WITH_AS(generator.generate(Ids{1, 6256}, greedy(1)), doctest::Contains("6256"),
                       Error);
  CHECK_THROWS_WITH_AS(generator.generate(Ids{-1}, greedy(1)), doctest::Contains("-1"), Error);
  auto config = greedy(1);
  config.temperature = -1;
  CHECK_THROWS_WITH_AS(generator.generate(Ids{1}, config), doctest::Contains("temperature"), Error);
}

TEST_CASE("without a tokenizer there are ids only") {
  Generator generator(tiny_model(), nullptr);
  const auto result = generator.generate(question(), greedy(5));
  CHECK(result.ids == tiny_generator().generate(question(), greedy(5)).ids);
  CHECK(result.text.empty());
  auto config = greedy(1);
  config.stop_strings = {"x"};
  CHECK_THROWS_AS(generator.generate(question(), config), Error);
}

TEST_CASE("cancelled from the callback") {
  Generator generator = tiny_generator();
  const auto whole = generator.generate(question(), hot(12));
  std::atomic<bool> cancel{false};
  int count = 0;
  std::string joined;
  GenerateOptions options;
  options.cancel = &cancel;
  options.on_token = [&](const TokenEvent& event) {
    joined += event.text;
    if (++count == 3) cancel = true;
  };
  const auto cut = generator.generate(question(), hot(12), options);
  CHECK(cut.finish == FinishReason::cancelled);
  CHECK(cut.ids == Ids(whole.ids.begin(), whole.ids.begin() + 3));
  CHECK(cut.text == joined);
  CHECK(generator.generate(question(), hot(12)).ids == whole.ids);
}

TEST_CASE("cancelled before and while the prompt is computed") {
  Generator generator = tiny_generator();
  std::atomic<bool> cancel{true};
  GenerateOptions options;
  options.cancel = &cancel;
  options.prefill_rows = 4;
  const auto none = generator.generate(range(1, 20), greedy(5), options);
  CHECK(none.finish == FinishReason::cancelled);
  CHECK(none.ids.empty());

  cancel = false;
  std::vector<std::int64_t> steps;
  options.on_prefill = [&](std::int64_t done, std::int64_t total) {
    CHECK(total == 20);
    steps.push_back(done);
    cancel = done == 8;
  };
  CHECK(generator.generate(range(1, 20), greedy(5), options).finish == FinishReason::cancelled);
  CHECK(steps == std::vector<std::int64_t>{4, 8});

  cancel = false;
  const auto rest = generator.generate(range(1, 20), greedy(5));
  CHECK(rest.cached_tokens == 8);
  CHECK(rest.ids == tiny_generator().generate(range(1, 20), greedy(5)).ids);
}

TEST_CASE("a prompt is computed in pieces of the size asked for, to its end") {
  for (const std::int64_t rows : {1, 3, 8, 20}) {
    std::int64_t before = 0;
    GenerateOptions options;
    options.prefill_rows = rows;
    options.on_prefill = [&](std::int64_t done, std::int64_t) {
      CHECK(done - before == std::min<std::int64_t>(rows, 20 - before));
      before = done;
    };
    tiny_generator().generate(range(1, 20), greedy(1), options);
    CHECK(before == 20);
  }
}

TEST_CASE("cancelled from another thread") {
  Generator generator = tiny_generator();
  std::atomic<bool> cancel{false}, started{false};
  GenerateOptions options;
  options.cancel = &cancel;
  options.on_token = [&](const TokenEvent&) { started = true; };
  std::thread other([&] {
    while (!started) std::this_thread::yield();
    cancel = true;
  });
  const auto result = generator.generate(question(), hot(3000), options);
  other.join();
  CHECK(result.finish == FinishReason::cancelled);
  CHECK_FALSE(result.ids.empty());
  CHECK(result.ids.size() < 3000);
}

TEST_CASE("a callback that throws leaves a generator that works") {
  Generator generator = tiny_generator();
  GenerateOptions options;
  int count = 0;
  options.on_token = [&](const TokenEvent&) {
    if (++count == 2) throw std::runtime_error("the connection is closed");
  };
  CHECK_THROWS_AS(generator.generate(question(), hot(8), options), std::runtime_error);
  CHECK(generator.generate(question(), hot(8)).ids ==
        tiny_generator().generate(question(), hot(8)).ids);
}

}  // namespace
}  // namespace linnet
