// One sequence through a lane, and the checks that every lane must pass: the same bits for any
// cutting of a sequence, and in any company.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "program/lane.h"
#include "program/random_program.h"

namespace linnet::testing {

inline std::vector<std::int32_t> some_tokens(std::uint64_t seed, std::size_t count) {
  RandomStream stream(seed);
  std::vector<std::int32_t> tokens(count);
  for (auto& token : tokens) token = static_cast<std::int32_t>(stream.next_uniform() * kVocab);
  return tokens;
}

// Runs one sequence from where its cache stands and returns the logits of every new row.
inline std::vector<float> run_all(const Lane& lane, KvCache& cache,
                                  std::span<const std::int32_t> tokens,
                                  const RunOptions& options = {}) {
  std::vector<std::int32_t> positions(tokens.size()), selected(tokens.size());
  std::iota(positions.begin(), positions.end(), static_cast<std::int32_t>(cache.length()));
  std::iota(selected.begin(), selected.end(), 0);
  const SequenceRows rows[] = {{&cache, static_cast<std::int64_t>(tokens.size())}};
  Batch batch;
  batch.tokens = tokens, batch.positions = positions, batch.sequences = rows,
  batch.selected = selected;
  return lane.run(batch, options);
}

inline std::vector<float> run_alone(const Lane& lane, std::span<const std::int32_t> tokens) {
  KvCache cache = lane.make_cache();
  return run_all(lane, cache, tokens);
}

inline void check_any_cutting(const Lane& lane, std::uint64_t seed) {
  const auto tokens = some_tokens(seed, 150);  // more than two cache blocks
  const auto whole = run_alone(lane, tokens);
  for (const std::size_t piece : {1u, 7u, 64u, 149u}) {
    KvCache cache = lane.make_cache();
    std::vector<float> joined;
    for (std::size_t at = 0; at < tokens.size(); at += piece) {
      const auto part = std::span(tokens).subspan(at, std::min(piece, tokens.size() - at));
      const auto logits = run_all(lane, cache, part);
      joined.insert(joined.end(), logits.begin(), logits.end());
    }
    CHECK_MESSAGE(joined == whole, "pieces of " << piece);
  }
}

// A copied cache goes on as if it had been computed alone, wherever it was cut, and leaves the
// other as it was.
inline void check_forks(const Lane& lane, std::uint64_t seed) {
  const auto tokens = some_tokens(seed, 150), others = some_tokens(seed + 1, 70);
  for (const std::int64_t cut : {1, 63, 64, 100, 128}) {
    auto pool = BlockPool::make(lane.block_bytes());
    KvCache first = lane.cache_in(pool);
    run_all(lane, first, std::span(tokens).subspan(0, 130));
    KvCache second = first;
    CHECK(pool->used() == 3);
    second.truncate(cut);
    std::vector<std::int32_t> mixed(tokens.begin(), tokens.begin() + cut);
    mixed.insert(mixed.end(), others.begin(), others.end());
    const auto expected = run_alone(lane, mixed);
    const std::int64_t wanted = second.blocks_wanted(70), before = pool->used();
    const auto got = run_all(lane, second, others);
    CHECK(pool->used() - before == wanted);
    CHECK_MESSAGE(std::equal(got.begin(), got.end(), expected.end() - std::ssize(got)),
                  "cut at " << cut);
    const auto whole = run_alone(lane, tokens);
    const auto rest = run_all(lane, first, std::span(tokens).subspan(130));
    CHECK(std::equal(rest.begin(), rest.end(), whole.end() - std::ssize(rest)));
  }
}

// 32 sequences of different lengths at once.
inline void check_any_company(const Lane& lane) {
  std::vector<std::vector<std::int32_t>> prompts;
  std::vector<std::int32_t> tokens, positions, selected;
  std::vector<KvCache> caches;
  for (std::size_t i = 0; i < 32; ++i) {
    prompts.push_back(some_tokens(10 + i, 1 + i % 9));
    for (std::size_t j = 0; j < prompts[i].size(); ++j) {
      selected.push_back(static_cast<std::int32_t>(tokens.size()));
      tokens.push_back(prompts[i][j]);
      positions.push_back(static_cast<std::int32_t>(j));
    }
    caches.push_back(lane.make_cache());
  }
  std::vector<SequenceRows> rows;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    rows.push_back({&caches[i], static_cast<std::int64_t>(prompts[i].size())});
  }
  Batch batch;
  batch.tokens = tokens, batch.positions = positions, batch.sequences = rows,
  batch.selected = selected;
  const std::vector<float> together = lane.run(batch);
  auto at = together.begin();
  for (const auto& prompt : prompts) {
    const auto alone = run_alone(lane, prompt);
    CHECK(std::equal(alone.begin(), alone.end(), at));
    at += static_cast<std::ptrdiff_t>(alone.size());
  }
  CHECK(at == together.end());
}

}  // namespace linnet::testing
