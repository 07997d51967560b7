#include "engine/batch_engine.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <thread>

#include "base/error.h"
#include "base/file_map.h"
#include "base/random.h"
#include "engine/generator.h"
#include "engine/lanes.h"
#include "engine/processors.h"
#include "engine/some_ids.h"
#include "engine/tiny_model.h"

namespace linnet {
namespace {

// Nearly uniform draws: a difference in the last bits of the logits soon shows.
Request hot(Ids prompt, std::uint64_t seed, std::int64_t most_new = 12) {
  Request request;
  request.prompt = std::move(prompt);
  request.config.sample = true;
  request.config.temperature = 3;
  request.config.seed = seed;
  request.config.max_new_tokens = most_new;
  return request;
}

std::shared_ptr<const Model> lane_model(const std::string& lane, const std::string& weights) {
  LaneChoice choice;
  choice.lane = lane;
  choice.weights = weights;
  LoadOptions options;
  options.threads = 2;
  choose_lane(choice, options);
  return Model::load(open_model_files(tiny_folder()), options);
}

std::vector<GenerationResult> alone(const std::shared_ptr<const Model>& model,
                                    const Request& request) {
  return Generator(model, tiny_tokenizer()).run(request).answers;
}

void finish(BatchEngine& engine, const std::vector<std::shared_ptr<Ticket>>& tickets) {
  for (const auto& ticket : tickets) {
    while (!ticket->has_ended()) engine.step();
  }
}

// Prompts of all sizes, many with the same beginning.
std::vector<Request> mixed_requests() {
  std::vector<Request> requests;
  for (TokenId i = 0; i < 12; ++i) {
    const auto start = static_cast<TokenId>(100 + 400 * (i % 3));
    const auto shared = static_cast<std::size_t>(7 + 30 * (i % 4));
    Ids prompt = range(start, shared) + range(3000 + 50 * i, static_cast<std::size_t>(1 + i * 2));
    requests.push_back(hot(std::move(prompt), static_cast<std::uint64_t>(i), 50 + 5 * i));
    requests.back().caller = i % 2 == 0 ? "even" : "odd";
    requests.back().priority = i % 5 == 0 ? 1 : 0;
    requests.back().prompt_rows = i % 4 == 3 ? 5 : 0;
  }
  return requests;
}

}  // namespace

TEST_CASE("alone, together, in pieces, from the cache, after being sent back: the same answers") {
  for (const auto& [lane, weights] :
       {std::pair{"reference", "auto"}, {"native", "f32"}, {"native", "i8"}, {"native", "n4"}}) {
    const std::string lane_name = lane, weights_name = weights;
    CAPTURE(lane_name);
    CAPTURE(weights_name);
    const auto model = lane_model(lane, weights);
    const std::vector<Request> requests = mixed_requests();
    std::vector<GenerationResult> expected;
    for (const Request& request : requests) expected.push_back(alone(model, request).front());

    // The first pool has room for all, the second makes them wait for each other.
    for (const std::int64_t positions : {20000, 420}) {
      EngineOptions options;
      options.cache_positions = positions;
      options.scheduler.most_running = 8;
      options.scheduler.prompt_rows = 64;
      options.always_guess = true;
      BatchEngine engine(model, tiny_tokenizer(), options);
      std::int64_t accepted = 0;
      for (int round = 0; round < 2; ++round) {
        std::vector<std::shared_ptr<Ticket>> tickets;
        for (const Request& request : requests) {
          tickets.push_back(engine.submit(request));
          if (tickets.size() % 3 == 0) engine.step();
        }
        finish(engine, tickets);
        for (std::size_t i = 0; i < requests.size(); ++i) {
          const GenerationResult result = tickets[i]->get().answers.at(0);
          CHECK(result.ids == expected[i].ids);
          CHECK(result.text == expected[i].text);
          accepted += result.accepted_tokens;
          if (positions > 420 && round == 1) {
            CHECK(result.cached_tokens == result.prompt_tokens - 1);
          }
        }
      }
      const EngineStats stats = engine.stats();
      CHECK(stats.running == 0);
      CHECK(stats.ended == 24);
      CHECK((stats.preemptions > 0) == (positions == 420));
      CHECK(accepted > 0);
      CHECK(stats.blocks_used == stats.blocks_cached);
      engine.clear_prefixes();
      engine.step();
      CHECK(engine.stats().blocks_used == 0);
    }
  }
}

TEST_CASE("prefixes from a file: the same answers, and nothing that is damaged") {
  const auto file = std::filesystem::temp_directory_path() / "linnet_prefixes_test";
  for (const auto& [lane, weights] : {std::pair{"reference", "auto"}, {"native", "i8"}}) {
    const auto model = lane_model(lane, weights);
    const Request request = hot(range(100, 300), 9, 30);
    std::vector<TokenId> expected;
    {
      BatchEngine engine(model, tiny_tokenizer());
      Request salted = request;
      salted.cache_salt = "another";
      const auto first = engine.submit(request), second = engine.submit(salted);
      finish(engine, {first, second});
      expected = first->get().answers.at(0).ids;
      CHECK(engine.save_prefixes(file) == 10);
    }
    BatchEngine engine(model, tiny_tokenizer());
    CHECK(engine.restore_prefixes(file) == 10);
    const auto again = engine.submit(request);
    finish(engine, {again});
    CHECK(again->get().answers.at(0).ids == expected);
    CHECK(again->get().answers.at(0).cached_tokens == 299);
    const auto other = lane_model("native", "n4");
    BatchEngine other_engine(other, tiny_tokenizer());
    CHECK_THROWS_WITH_AS(other_engine.restore_prefixes(file), doctest::Contains("another"), Error);
    // Any byte.
    std::string content = read_text_file(file.string(), 1 << 30);
    RandomStream random(3);
    for (int i = 0; i < 60; ++i) {
      std::string damaged = content;
      const auto at =
          static_cast<std::size_t>(random.next_uniform() * static_cast<float>(content.size()));
      damaged[i < 40 ? static_cast<std::size_t>(i) : at] ^= 16;
      write_file_atomically(file.string(), as_bytes(damaged));
      CHECK_THROWS_AS(engine.restore_prefixes(file), Error);
      write_file_atomically(file.string(), as_bytes(content.substr(0, at)));
      CHECK_THROWS_AS(engine.restore_prefixes(file), Error);
    }
    const auto cold = engine.submit(request);
    finish(engine, {cold});
    CHECK(cold->get().answers.at(0).ids == expected);
  }
  std::filesystem::remove(file);
}

TEST_CASE("answer i of several is that of seed + i alone") {
  const auto model = tiny_model();
  for (const std::size_t length : {5u, 64u, 100u}) {
    Request request = hot(range(200, length), 40);
    request.answers = 4;
    Generator generator(model, tiny_tokenizer());
    std::int64_t most_prompt = 0;
    std::vector<Ids> told(4);
    request.on_token = [&](const TokenEvent& event) {
      told.at(static_cast<std::size_t>(event.answer)).push_back(event.id);
    };
    request.on_prefill = [&](std::int64_t done, std::int64_t) { most_prompt = done; };
    const auto together = generator.run(request).answers;
    REQUIRE(together.size() == 4);
    CHECK(most_prompt == static_cast<std::int64_t>(length));
    for (std::size_t i = 0; i < 4; ++i) {
      const auto single = alone(model, hot(range(200, length), 40 + i)).front();
      CHECK(together[i].ids == single.ids);
      CHECK(together[i].seed == 40 + i);
      CHECK(told[i] == single.ids);
    }
  }
}

TEST_CASE("log-probabilities of the answer and of the prompt") {
  const auto model = tiny_model();
  Request request = hot(range(300, 90), 1, 5);
  request.log_probabilities = request.prompt_log_probabilities = true;
  request.top_log_probabilities = 3;
  Generator generator(model, tiny_tokenizer());
  generator.run(request);  // what is cached is no help to the prompt's
  const RequestResult result = generator.run(request);
  const GenerationResult& answer = result.answers.front();
  CHECK(answer.ids == alone(model, hot(range(300, 90), 1, 5)).front().ids);
  REQUIRE(answer.log_probabilities.size() == 5);
  REQUIRE(result.prompt_log_probabilities.size() == 89);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(answer.log_probabilities[i].chosen.id == answer.ids[i]);
    CHECK(answer.log_probabilities[i].top.size() == 3);
  }
  // As if the prompt's ids had been chosen.
  Request second = hot(range(300, 60), 1, 1);
  second.log_probabilities = true;
  const auto first_id = generator.run(second).answers.front();
  const auto at_60 = result.prompt_log_probabilities.at(59);
  CHECK(at_60.chosen.id == 360);
  const auto row = row_log_probabilities(
      [&] {
        KvCache cache = model->make_cache();
        const Ids ids = range(300, 60);
        std::vector<std::int32_t> positions(60);
        std::iota(positions.begin(), positions.end(), 0);
        const SequenceRows rows{&cache, 60};
        const std::int32_t last = 59;
        Batch batch;
        batch.tokens = ids, batch.positions = positions, batch.sequences = {&rows, 1};
        batch.selected = {&last, 1};
        return model->run(batch);
      }(),
      360, 3);
  CHECK(at_60.chosen == row.chosen);
  CHECK(at_60.top == row.top);
}

TEST_CASE("thoughts end at their budget, and the answer follows") {
  const auto model = tiny_model();
  Request request = hot(range(300, 20), 5, 30);
  request.thinking = ThinkingTags{{50, 51}, {60, 61}, true, 7, {}};
  Ids reasoning;
  request.on_token = [&](const TokenEvent& event) {
    if (event.is_reasoning) reasoning.push_back(event.id);
    CHECK(event.is_forced == (event.id == 60 || event.id == 61));
  };
  const auto result = Generator(model, tiny_tokenizer()).run(request).answers.front();
  const auto free_run = alone(model, hot(range(300, 20), 5, 30)).front();
  CHECK(result.reasoning_tokens == 7);
  REQUIRE(result.ids.size() == 30);
  CHECK(std::equal(result.ids.begin(), result.ids.begin() + 7, free_run.ids.begin()));
  CHECK(Ids(result.ids.begin() + 7, result.ids.begin() + 9) == Ids{60, 61});
  CHECK(reasoning == Ids(result.ids.begin(), result.ids.begin() + 9));
  // None at all; and a limit in the middle of the tag.
  request.on_token = nullptr;
  request.thinking->budget = 0;
  const auto none = Generator(model, tiny_tokenizer()).run(request).answers.front();
  CHECK(Ids(none.ids.begin(), none.ids.begin() + 2) == Ids{60, 61});
  CHECK(none.reasoning_tokens == 0);
  request.thinking->budget = 4;
  request.config.max_new_tokens = 5;
  const auto cut = Generator(model, tiny_tokenizer()).run(request).answers.front();
  CHECK(cut.ids.size() == 5);
  CHECK(cut.ids.back() == 60);
  CHECK(cut.finish == FinishReason::length);
}

TEST_CASE("a thought ends early on request") {
  BatchEngine engine(tiny_model(), tiny_tokenizer());
  Request request = hot(range(300, 20), 5, 30);
  request.thinking = ThinkingTags{{50}, {60}, true, -1, {60, 70}};
  const auto ticket = engine.submit(request);
  for (int i = 0; i < 5; ++i) engine.step();
  ticket->end_thought();
  finish(engine, {ticket});
  const auto result = ticket->get().answers.front();
  CHECK(result.reasoning_tokens == 5);
  CHECK(Ids(result.ids.begin() + 5, result.ids.begin() + 7) == Ids{60, 70});
}

TEST_CASE("one request's fault is nobody else's") {
  const auto model = tiny_model();
  BatchEngine engine(model, tiny_tokenizer());
  const Request good = hot(range(500, 40), 3, 20);
  std::vector<std::shared_ptr<Ticket>> tickets = {engine.submit(good)};
  Request exploding = good;
  exploding.on_token = [](const TokenEvent&) { throw std::runtime_error("gone"); };
  tickets.push_back(engine.submit(exploding));
  Request late = good;
  late.deadline = Clock::now();
  tickets.push_back(engine.submit(late));
  Request grammar = good;
  grammar.config.processors.push_back(
      callback_processor([](std::span<const TokenId>, std::size_t, std::span<float>) { throw 5; }));
  tickets.push_back(engine.submit(grammar));
  int ends = 0;
  Request cancelled = good;
  cancelled.on_end = [&](const RequestResult* result, std::exception_ptr) {
    ++ends;
    CHECK(result->answers.at(0).finish == FinishReason::cancelled);
  };
  tickets.push_back(engine.submit(cancelled));
  engine.step();
  engine.step();
  tickets.back()->cancel();
  finish(engine, tickets);
  CHECK(tickets[0]->get().answers.at(0).ids == alone(model, good).front().ids);
  CHECK_THROWS_AS(tickets[1]->get(), std::runtime_error);
  CHECK(tickets[2]->get().answers.at(0).finish == FinishReason::deadline);
  CHECK_THROWS(tickets[3]->get());
  CHECK(tickets[4]->get().answers.at(0).ids.size() == 2);
  CHECK(ends == 1);
}

TEST_CASE("an error while guesses are verified") {
  EngineOptions options;
  options.always_guess = true;
  BatchEngine engine(tiny_model(), tiny_tokenizer(), options);
  const Ids pattern = range(300, 25);
  Request request = hot(pattern + pattern + pattern, 1, 200);
  request.config.sample = false;
  // Says the pattern again and again, and fails when it is sure to be guessed.
  const auto say = [&](std::span<const TokenId> ids, std::size_t, std::span<float> scores) {
    if (ids.size() > 240) throw std::runtime_error("enough");
    scores[static_cast<std::size_t>(pattern[ids.size() % pattern.size()])] = 1e6f;
  };
  request.config.processors.push_back(callback_processor(say));
  for (int i = 0; i < 3; ++i) {
    const auto ticket = engine.submit(request);
    std::int64_t passes = 0;
    for (; !ticket->has_ended(); ++passes) engine.step();
    CHECK_THROWS_AS(ticket->get(), std::runtime_error);
    CHECK(passes < 100);
  }
  const EngineStats stats = engine.stats();
  CHECK(stats.blocks_used == stats.blocks_cached);
}

TEST_CASE("what can never be computed is refused") {
  EngineOptions options;
  options.cache_positions = 640;
  options.most_waiting = 2;
  options.scheduler.most_running = 4;
  BatchEngine engine(tiny_model(), tiny_tokenizer(), options);
  CHECK(engine.context() == 640);
  CHECK_THROWS_WITH_AS(engine.submit(hot({}, 1)), doctest::Contains("empty"), Error);
  CHECK_THROWS_WITH_AS(engine.submit(hot({99999}, 1)), doctest::Contains("99999"), Error);
  CHECK_THROWS_WITH_AS(engine.submit(hot(range(0, 640), 1)), doctest::Contains("640"), Error);
  Request request = hot(range(0, 10), 1);
  request.answers = 5;
  CHECK_THROWS_WITH_AS(engine.submit(request), doctest::Contains("5"), Error);
  request.answers = 0;
  CHECK_THROWS_AS(engine.submit(request), Error);
  request = hot(range(0, 100), 1, 300);
  request.config.sample = false;
  request.beams = BeamOptions{.beams = 4};
  CHECK_THROWS_WITH_AS(engine.submit(request), doctest::Contains("blocks"), Error);
  request.contrastive = ContrastiveOptions{};
  CHECK_THROWS_WITH_AS(engine.submit(request), doctest::Contains("only one"), Error);
  const auto a = engine.submit(hot(range(0, 10), 1)), b = engine.submit(hot(range(0, 10), 1));
  try {
    engine.submit(hot(range(0, 10), 1));
    CHECK(false);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::overloaded);
  }
  finish(engine, {a, b});
}

TEST_CASE("an engine that ends answers everyone") {
  std::shared_ptr<Ticket> running, waiting;
  {
    BatchEngine engine(tiny_model(), tiny_tokenizer());
    running = engine.submit(hot(range(0, 10), 1));
    engine.step();
    waiting = engine.submit(hot(range(0, 10), 1));
  }
  for (const auto& ticket : {running, waiting}) {
    REQUIRE(ticket->has_ended());
    CHECK_THROWS_WITH_AS(ticket->get(), doctest::Contains("stopped"), Error);
  }
}

TEST_CASE("beams without a limit share the cache out") {
  EngineOptions options;
  options.cache_positions = 640;
  BatchEngine engine(tiny_model(), tiny_tokenizer(), options);
  Request request = hot(range(400, 70), 0, -1);
  request.config.sample = false;
  request.beams = BeamOptions{.beams = 2};
  const auto ticket = engine.submit(request);
  finish(engine, {ticket});
  // Eleven blocks, two of them the prompt's, and one for each beam to copy the last into.
  CHECK(ticket->get().answers.at(0).ids.size() == 3 * 64);
}

TEST_CASE("many threads, one engine") {
  const auto model = tiny_model(2);
  const std::vector<Request> requests = mixed_requests();
  std::vector<Ids> expected;
  for (const Request& request : requests) expected.push_back(alone(model, request).front().ids);
  EngineOptions options;
  options.cache_positions = 2000;
  BatchEngine engine(model, tiny_tokenizer(), options);
  engine.start();
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < requests.size(); i += 2) {
        CHECK(engine.submit(requests[i])->get().answers.at(0).ids == expected[i]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("beams and contrastive search: the same alone and in company") {
  const auto model = tiny_model();
  Request beams = hot(range(400, 70), 0, 8), contrast = beams;
  beams.config.sample = contrast.config.sample = false;
  beams.config.stop_ids = {5};
  beams.beams = BeamOptions{.beams = 4};
  beams.answers = 3;
  contrast.contrastive = ContrastiveOptions{};
  const auto expected_beams = alone(model, beams), expected_contrast = alone(model, contrast);
  REQUIRE(expected_beams.size() == 3);
  CHECK(expected_beams[0].score >= expected_beams[1].score);
  CHECK(expected_contrast.front().ids.size() == 8);
  EngineOptions options;
  options.cache_positions = 1200;
  BatchEngine engine(model, tiny_tokenizer(), options);
  std::vector<std::shared_ptr<Ticket>> tickets;
  for (const Request& other : mixed_requests()) tickets.push_back(engine.submit(other));
  const auto first = engine.submit(beams), second = engine.submit(contrast);
  finish(engine, {first, second});
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(first->get().answers[i].ids == expected_beams[i].ids);
    CHECK(first->get().answers[i].score == expected_beams[i].score);
  }
  CHECK(second->get().answers.front().ids == expected_contrast.front().ids);
}

}  // namespace linnet
