// Requests that the native lane passes on to the reference lane.
#include "native/fallback_lane.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/telemetry.h"
#include "program/run_sequence.h"

using namespace linnet;
using namespace linnet::testing;

namespace {

struct Lanes {
  RandomProgram program;
  ReferenceLane reference = program.lane();
  FallbackLane fallback{std::make_unique<NativeLane>(program.program(), program.weights(),
                                                     std::make_shared<ThreadPool>(2)),
                        program.weights(), false};
};

bool is_near(const std::vector<float>& a, const std::vector<float>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) {
    return std::fabs(x - y) <= 1e-4 + 1e-4 * std::fabs(x);
  });
}

// The hidden values that a run showed, and its result behind them.
std::vector<float> with_hidden_states(const Lane& lane, KvCache& cache,
                                      std::span<const std::int32_t> tokens) {
  std::vector<float> all;
  RunOptions options;
  options.on_value = [&](const Step&, std::span<const float> rows, std::int64_t) {
    all.insert(all.end(), rows.begin(), rows.end());
  };
  const auto result = run_all(lane, cache, tokens, options);
  all.insert(all.end(), result.begin(), result.end());
  return all;
}

}  // namespace

TEST_CASE("a new sequence gets the reference lane's bits") {
  const Lanes lanes;
  const auto tokens = some_tokens(1, 9);
  KvCache cache = lanes.fallback.make_cache(), other = lanes.reference.make_cache();
  CHECK(with_hidden_states(lanes.fallback, cache, tokens) ==
        with_hidden_states(lanes.reference, other, tokens));
  CHECK(cache.length() == 9);
}

TEST_CASE("a sequence goes over with its cache, stays, and comes back when it is empty") {
  const Lanes lanes;
  const auto tokens = some_tokens(2, 90);
  KvCache cache = lanes.fallback.make_cache(), other = lanes.reference.make_cache();
  const auto run_both = [&](std::size_t first, std::size_t count, bool hidden) {
    const auto piece = std::span(tokens).subspan(first, count);
    if (!hidden) {
      return is_near(run_all(lanes.fallback, cache, piece), run_all(lanes.reference, other, piece));
    }
    return is_near(with_hidden_states(lanes.fallback, cache, piece),
                   with_hidden_states(lanes.reference, other, piece));
  };
  std::vector<std::string> ops;
  const auto subscription = Telemetry::instance().subscribe([&](const TelemetryEvent& event) {
    if (event.name == "fallback.stop") ops.push_back(event.metadata.dump());
  });
  CHECK(run_both(0, 70, false));
  CHECK(!cache.has_plain_blocks());
  CHECK(run_both(70, 5, true));
  CHECK(cache.has_plain_blocks());
  CHECK(run_both(75, 10, false));
  CHECK(cache.length() == 85);
  std::vector<float> keys(kKvHeads * kDim), values(keys.size()), same_keys(keys.size());
  lanes.fallback.read_cache(cache, 1, 3, keys.data(), values.data());
  lanes.reference.read_cache(other, 1, 3, same_keys.data(), values.data());
  CHECK(is_near(keys, same_keys));
  CHECK(ops == std::vector<std::string>{
                   R"({"op":"hidden_states","input_shapes":[[5]],"input_dtypes":["i32"]})",
                   R"({"op":"sequence","input_shapes":[[10]],"input_dtypes":["i32"]})"});
  cache.truncate(0), other.truncate(0);
  CHECK(run_both(0, 4, false));
  CHECK(!cache.has_plain_blocks());
  CHECK(ops.size() == 2);
}

TEST_CASE("head masks and attentions are served, and failures leave the sequence as it was") {
  const Lanes lanes;
  const auto tokens = some_tokens(3, 6);
  KvCache cache = lanes.fallback.make_cache();
  run_all(lanes.fallback, cache, tokens);
  std::atomic<bool> cancel{true};
  RunOptions options;
  options.cancel = &cancel;
  std::atomic<int> seen{0};
  options.on_attention = [&](const Step&, std::int64_t, std::int64_t, std::span<const float>) {
    ++seen;
  };
  CHECK_THROWS_AS(run_all(lanes.fallback, cache, tokens, options), Error);
  CHECK(cache.length() == 6);
  cancel = false;
  run_all(lanes.fallback, cache, tokens, options);
  CHECK(cache.length() == 12);
  CHECK(seen == 2 * 6 * kHeads);
}
