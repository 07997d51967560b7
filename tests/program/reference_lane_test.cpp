#include "program/reference_lane.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "program/random_program.h"
#include "program/run_sequence.h"

using namespace linnet;
using namespace linnet::testing;

TEST_CASE("the same bits for any cutting of the sequence") {
  check_any_cutting(RandomProgram().lane(), 1);
  check_forks(RandomProgram().lane(), 1);
}

TEST_CASE("the same bits for any number of threads") {
  const auto tokens = some_tokens(2, 70);
  const auto expected = run_alone(RandomProgram().lane(1), tokens);
  for (const int threads : {2, 3, 5})
    CHECK(run_alone(RandomProgram().lane(threads), tokens) == expected);
}

TEST_CASE("the same bits alone and among other sequences") {
  check_any_company(RandomProgram().lane(2));
}

TEST_CASE("a truncated cache gives the bits of a fresh one") {
  const ReferenceLane lane = RandomProgram().lane();
  const auto tokens = some_tokens(3, 140), other = some_tokens(4, 30);
  for (const std::int64_t keep : {0, 1, 63, 64, 65, 128}) {
    KvCache cache = lane.make_cache();
    run_all(lane, cache, tokens);
    cache.truncate(keep);
    std::vector<std::int32_t> mixed(tokens.begin(), tokens.begin() + keep);
    mixed.insert(mixed.end(), other.begin(), other.end());
    const auto whole = run_alone(lane, mixed);
    const auto tail = run_all(lane, cache, other);
    CHECK(std::equal(tail.rbegin(), tail.rend(), whole.rbegin()));
  }
}

TEST_CASE("selected rows come in the order that was asked for") {
  const ReferenceLane lane = RandomProgram().lane();
  const auto tokens = some_tokens(5, 6);
  const auto all = run_alone(lane, tokens);
  KvCache cache = lane.make_cache();
  const std::int32_t positions[] = {0, 1, 2, 3, 4, 5}, selected[] = {4, 0, 4};
  const SequenceRows rows[] = {{&cache, 6}};
  Batch batch;
  batch.tokens = tokens, batch.positions = positions, batch.sequences = rows,
  batch.selected = selected;
  const auto some = lane.run(batch);
  REQUIRE(some.size() == 3 * kVocab);
  for (int i = 0; i < 3; ++i) {
    CHECK(std::equal(some.begin() + i * kVocab, some.begin() + (i + 1) * kVocab,
                     all.begin() + selected[i] * kVocab));
  }
}

TEST_CASE("rotation matters from the second token on, and only there") {
  // One token at position 0 cannot tell rotating layers from others; two can.
  const ReferenceLane right = RandomProgram(true, false).lane(),
                      wrong = RandomProgram(true, true).lane();
  const auto tokens = some_tokens(6, 50);
  const auto a = run_alone(right, tokens), b = run_alone(wrong, tokens);
  CHECK(std::equal(a.begin(), a.begin() + kVocab, b.begin()));
  CHECK(!std::equal(a.begin() + kVocab, a.begin() + 2 * kVocab, b.begin() + kVocab));
  CHECK(!std::equal(a.end() - kVocab, a.end(), b.end() - kVocab));
}

TEST_CASE("a sliding window sees its last keys only") {
  const ReferenceLane slides = RandomProgram(false, false, 3).lane();
  const ReferenceLane full = RandomProgram(false, false).lane();
  auto tokens = some_tokens(7, 9);
  const auto before = run_alone(slides, tokens), full_before = run_alone(full, tokens);
  CHECK(std::equal(before.begin(), before.begin() + 3 * kVocab, full_before.begin()));
  CHECK(!std::equal(before.end() - kVocab, before.end(), full_before.end() - kVocab));
  // Two layers of window 3 reach back 4 tokens: the first of nine cannot reach the last.
  tokens[0] = (tokens[0] + 1) % kVocab;
  const auto after = run_alone(slides, tokens);
  CHECK(std::equal(before.end() - kVocab, before.end(), after.end() - kVocab));
  CHECK(!std::equal(before.begin(), before.begin() + kVocab, after.begin()));
}

TEST_CASE("embeddings in place of ids") {
  const RandomProgram random;
  const ReferenceLane lane = random.lane();
  const auto tokens = some_tokens(8, 5);
  std::vector<float> embeddings(5 * kHidden);
  for (std::size_t i = 0; i < 5; ++i)
    random.weights()[0].decode_row(tokens[i], &embeddings[i * kHidden]);
  KvCache cache = lane.make_cache();
  const std::int32_t positions[] = {0, 1, 2, 3, 4}, selected[] = {0, 1, 2, 3, 4};
  const SequenceRows rows[] = {{&cache, 5}};
  Batch batch;
  batch.embeddings = embeddings, batch.positions = positions, batch.sequences = rows,
  batch.selected = selected;
  CHECK(lane.run(batch) == run_alone(lane, tokens));
}

TEST_CASE("attention maps are probabilities; a head mask of ones changes nothing") {
  const ReferenceLane lane = RandomProgram().lane(2);
  const auto tokens = some_tokens(9, 8);
  std::atomic<int> calls{0}, wrong{0};
  RunOptions options;
  options.on_attention = [&](const Step&, std::int64_t row, std::int64_t,
                             std::span<const float> p) {
    ++calls;
    const float sum = std::accumulate(p.begin(), p.end(), 0.0f);
    wrong += std::abs(sum - 1) > 1e-5f || static_cast<std::int64_t>(p.size()) != row + 1;
  };
  KvCache cache = lane.make_cache();
  const auto logits = run_all(lane, cache, tokens, options);
  CHECK(calls == 8 * 2 * kHeads);
  CHECK(wrong == 0);
  CHECK(logits == run_alone(lane, tokens));
}

TEST_CASE("a cancelled run leaves the cache as it was") {
  const ReferenceLane lane = RandomProgram().lane();
  const auto tokens = some_tokens(10, 20);
  KvCache cache = lane.make_cache();
  run_all(lane, cache, std::span(tokens).first(10));
  std::atomic<bool> cancel{false};
  RunOptions options;
  options.cancel = &cancel;
  options.on_value = [&](const Step& step, std::span<const float>, std::int64_t) {
    if (step.op == Op::attention) cancel = true;
  };
  CHECK_THROWS_WITH_AS(run_all(lane, cache, std::span(tokens).subspan(10), options), "cancelled",
                       Error);
  CHECK(cache.length() == 10);
  const auto whole = run_alone(lane, tokens);
  const auto tail = run_all(lane, cache, std::span(tokens).subspan(10));
  CHECK(std::equal(tail.rbegin(), tail.rend(), whole.rbegin()));
}

TEST_CASE("input that does not fit is named") {
  const ReferenceLane lane = RandomProgram().lane();
  for (const std::int32_t bad : {-1, 50, 1 << 30}) {
    const std::int32_t tokens[] = {1, bad};
    KvCache cache = lane.make_cache();
    const std::string expected =
        "token id " + std::to_string(bad) + " in row 1 is outside of the vocabulary of 50";
    CHECK_THROWS_WITH_AS(run_all(lane, cache, tokens), expected.c_str(), Error);
    CHECK(cache.length() == 0);
  }
  KvCache cache = lane.make_cache();
  const std::int32_t tokens[] = {1, 2}, positions[] = {0, 1}, far[] = {2};
  const SequenceRows rows[] = {{&cache, 2}}, short_rows[] = {{&cache, 1}};
  Batch batch;
  batch.tokens = tokens, batch.positions = positions, batch.sequences = rows, batch.selected = far;
  CHECK_THROWS_AS(lane.run(batch), Error);
  batch.selected = {}, batch.sequences = short_rows;
  CHECK_THROWS_AS(lane.run(batch), Error);
  const float mask[] = {1, 1, 1};
  batch.sequences = rows, batch.head_mask = mask;
  CHECK_THROWS_AS(lane.run(batch), Error);
  batch.head_mask = {};
  CHECK(lane.run(batch).empty());  // nothing selected: rows are computed for the cache only
  CHECK(cache.length() == 2);
}

TEST_CASE("a program that does not fit together is a bug, not a crash") {
  const auto broken = [](auto change) {
    Program program = *RandomProgram().program();
    change(program);
    CHECK_THROWS_AS(check_program(program), std::logic_error);
  };
  CHECK_NOTHROW(check_program(*RandomProgram().program()));
  broken([](Program& p) { p.steps[1].inputs[0] = 20; });              // read before written
  broken([](Program& p) { p.steps[2].output = p.steps[1].output; });  // written twice
  broken([](Program& p) { p.weights[1].shape = {kHidden + 1}; });     // scale does not fit
  broken([](Program& p) { p.steps[0].weights[0] = 99; });             // no such weight
  broken([](Program& p) { p.kv_width += 1; });                        // cache does not fit
  broken([](Program& p) { p.output = 1000; });                        // no such value
  broken([](Program& p) { p.steps[1].inputs.push_back(0); });         // too many inputs
}
