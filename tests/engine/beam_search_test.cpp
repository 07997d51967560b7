#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <stdexcept>

#include "base/error.h"
#include "engine/beam_search.h"

namespace linnet {
namespace {

using Ids = std::vector<TokenId>;
// Log-probabilities of what comes after `ids`.
using Model = std::function<std::vector<float>(const Ids&)>;

constexpr float kNone = -std::numeric_limits<float>::infinity();

// A model of `vocab` ids whose rows are random but depend on nothing except the ids before.
Model random_model(std::size_t vocab, std::uint32_t seed, double spread, double removed = 0) {
  return [=](const Ids& ids) {
    std::uint32_t state = seed;
    for (const TokenId id : ids) state = (state ^ static_cast<std::uint32_t>(id + 1)) * 2654435761u;
    std::mt19937 random(state);
    std::normal_distribution<double> normal(0, spread);
    std::uniform_real_distribution<double> unit(0, 1);
    std::vector<float> row(vocab);
    double total = 0;
    for (float& value : row) {
      value = unit(random) < removed ? kNone : static_cast<float>(normal(random));
      total += std::exp(static_cast<double>(value));
    }
    if (total == 0) return row;
    for (float& value : row) value -= static_cast<float>(std::log(total));
    return row;
  };
}

std::vector<BeamResult> search(const BeamOptions& options, const Model& model,
                               std::int64_t count = 1000, const BeamSearch::Ends& ends = nullptr) {
  BeamSearch search(options);
  std::vector<Ids> sequences = {{}};
  while (!search.is_done()) {
    std::vector<float> rows;
    for (const Ids& ids : sequences) {
      const std::vector<float> row = model(ids);
      rows.insert(rows.end(), row.begin(), row.end());
    }
    REQUIRE(search.rows() == static_cast<std::int64_t>(sequences.size()));
    std::vector<Ids> next;
    for (const Beam& beam : search.advance(rows, ends)) {
      next.push_back(sequences.at(static_cast<std::size_t>(beam.parent)));
      next.back().push_back(beam.token);
    }
    sequences = std::move(next);
  }
  return search.results(count);
}

// The same search written plainly from its definition, for groups of any number: whole sequences,
// full sorts, penalties counted anew.
struct Hypothesis {
  Ids ids;
  float score = 0;
};

bool by_score(const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; }

struct PlainGroup {
  std::vector<Hypothesis> running = {{}};
  std::vector<Hypothesis> finished;
  Ids chosen;  // in the last step, other than stop ids
  bool is_done = false;
};

float plain_divisor(const BeamOptions& options, std::int64_t length) {
  return static_cast<float>(
      std::pow(static_cast<double>(length), static_cast<double>(options.length_penalty)));
}

void plain_step(const BeamOptions& options, const Model& model, PlainGroup& group,
                const std::map<TokenId, int>& chosen, std::int64_t length) {
  const auto beams = static_cast<std::size_t>(options.beams / options.groups);
  std::vector<Hypothesis> all;
  for (const Hypothesis& beam : group.running) {
    const std::vector<float> row = model(beam.ids);
    for (std::size_t id = 0; id < row.size(); ++id) {
      float value = row[id];
      const auto found = chosen.find(static_cast<TokenId>(id));
      for (int i = 0; found != chosen.end() && i < found->second; ++i) {
        value -= options.diversity_penalty;
      }
      if (value + beam.score == kNone) continue;
      all.push_back({beam.ids, beam.score + value});
      all.back().ids.push_back(static_cast<TokenId>(id));
    }
  }
  std::stable_sort(all.begin(), all.end(), by_score);
  all.resize(std::min(all.size(), beams * std::max<std::size_t>(2, 1 + options.stop_ids.size())));
  group.running.clear();
  group.chosen.clear();
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const TokenId last = all[rank].ids.back();
    const bool stops = std::count(options.stop_ids.begin(), options.stop_ids.end(), last) > 0;
    if (!stops && group.chosen.size() < beams) group.chosen.push_back(last);
    if (!stops && length < options.max_new_tokens) {
      if (group.running.size() < beams) group.running.push_back(all[rank]);
    } else if (rank < beams) {
      group.finished.push_back({all[rank].ids, all[rank].score / plain_divisor(options, length)});
    }
  }
  std::stable_sort(group.finished.begin(), group.finished.end(), by_score);
  group.finished.resize(std::min(group.finished.size(), beams));

  group.is_done = group.running.empty();
  if (group.is_done || group.finished.size() < beams) return;
  std::int64_t hoped = length;
  if (options.early_stopping == EarlyStopping::never && options.length_penalty > 0) {
    hoped = options.max_new_tokens;
  }
  group.is_done =
      options.early_stopping == EarlyStopping::when_full ||
      group.running[0].score / plain_divisor(options, hoped) <= group.finished.back().score;
}

std::vector<Hypothesis> plain_search(const BeamOptions& options, const Model& model) {
  std::vector<PlainGroup> groups(static_cast<std::size_t>(options.groups));
  for (std::int64_t length = 1; length <= options.max_new_tokens; ++length) {
    std::map<TokenId, int> chosen;
    for (PlainGroup& group : groups) {
      if (group.is_done) continue;
      plain_step(options, model, group, chosen, length);
      for (const TokenId id : group.chosen) ++chosen[id];
    }
  }
  std::vector<Hypothesis> all;
  for (const PlainGroup& group : groups) {
    all.insert(all.end(), group.finished.begin(), group.finished.end());
  }
  std::stable_sort(all.begin(), all.end(), by_score);
  return all;
}

void check_equals_plain(const BeamOptions& options, const Model& model) {
  const std::vector<BeamResult> got = search(options, model);
  const std::vector<Hypothesis> expected = plain_search(options, model);
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(got[i].ids == expected[i].ids);
    CHECK(got[i].score == expected[i].score);
    CHECK(got[i].beams.size() == got[i].ids.size());
  }
}

BeamOptions plain_options(std::int64_t beams, std::int64_t tokens, Ids stop_ids = {}) {
  BeamOptions options;
  options.beams = beams;
  options.max_new_tokens = tokens;
  options.stop_ids = std::move(stop_ids);
  return options;
}

TEST_CASE("one beam is greedy choice") {
  const Model model = random_model(50, 5, 2);
  Ids greedy;
  for (int i = 0; i < 20; ++i) {
    const std::vector<float> row = model(greedy);
    greedy.push_back(static_cast<TokenId>(std::max_element(row.begin(), row.end()) - row.begin()));
  }
  const auto results = search(plain_options(1, 20), model);
  REQUIRE(results.size() == 1);
  CHECK(results[0].ids == greedy);
}

TEST_CASE("finds what greedy choice misses") {
  // 0 looks better at first; what follows 1 is certain.
  const Model model = [](const Ids& ids) {
    if (ids.empty()) return std::vector<float>{std::log(0.6f), std::log(0.4f)};
    if (ids[0] == 0) return std::vector<float>{std::log(0.5f), std::log(0.5f)};
    return std::vector<float>{0.0f, kNone};
  };
  const auto results = search(plain_options(2, 2), model);
  REQUIRE(results.size() == 2);
  CHECK(results[0].ids == Ids{1, 0});
  CHECK(results[0].score == doctest::Approx(std::log(0.4) / 2));
  CHECK(results[0].beams == std::vector<std::int64_t>{0, 1});
  CHECK(results[1].ids == Ids{0, 0});
  CHECK(search(plain_options(2, 2), model, 1).size() == 1);
}

TEST_CASE("a stop id out of the best candidates of its step finishes nothing") {
  // The stop id 2 is third in the first step, and never likely again.
  const Model model = [](const Ids& ids) {
    if (ids.empty()) return std::vector<float>{-1.0f, -1.1f, -1.2f, -5.0f};
    return std::vector<float>{-0.7f, -0.8f, -9.0f, -9.0f};
  };
  for (const BeamResult& result : search(plain_options(2, 3, {2}), model)) {
    CHECK(result.ids.size() == 3);
  }
  // With three beams it is among them, and its one token has the largest sum.
  BeamOptions three = plain_options(3, 3, {2});
  three.length_penalty = 0;
  const auto results = search(three, model);
  CHECK(results[0].ids == Ids{2});
  CHECK(results[0].score == -1.2f);
}

TEST_CASE("equals the plain definition on random models") {
  std::mt19937 random(1);
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(random() % (high - low + 1));
  };
  for (int round = 0; round < 3000; ++round) {
    CAPTURE(round);
    const int groups = pick(1, 3);
    const auto vocab = static_cast<std::size_t>(pick(3, round % 2 == 0 ? 9 : 150));
    BeamOptions options = plain_options(groups * pick(1, 4), pick(1, 12));
    options.groups = groups;
    if (groups > 1) options.diversity_penalty = static_cast<float>(pick(0, 8)) / 4.0f;
    options.length_penalty = static_cast<float>(pick(-4, 8)) / 4.0f;
    options.early_stopping = static_cast<EarlyStopping>(pick(0, 2));
    for (int i = pick(0, 3); i > 0; --i) {
      options.stop_ids.push_back(pick(0, static_cast<int>(vocab) - 1));
    }
    const double removed = round % 3 == 0 ? 0.7 : 0;
    check_equals_plain(options, random_model(vocab, random(), 0.3 * pick(1, 8), removed));
  }
}

TEST_CASE("groups differ when the penalty is high, and agree without one") {
  BeamOptions options = plain_options(3, 1);
  options.groups = 3;
  const Model model = random_model(20, 3, 0.5);
  const auto same = search(options, model);
  CHECK(same[0].ids == same[1].ids);
  CHECK(same[1].ids == same[2].ids);
  options.diversity_penalty = 100;
  const auto other = search(options, model);
  CHECK(other[0].ids != other[1].ids);
  CHECK(other[1].ids != other[2].ids);
  CHECK(other[0].ids == same[0].ids);
}

TEST_CASE("equal candidates go by row, then by id") {
  const Model model = [](const Ids&) { return std::vector<float>(3, -1.0f); };
  const auto results = search(plain_options(5, 3), model);
  REQUIRE(results.size() == 5);
  CHECK(results[0].ids == Ids{0, 0, 0});
  CHECK(results[2].ids == Ids{0, 0, 2});
  CHECK(results[3].ids == Ids{0, 1, 0});
}

TEST_CASE("a running beam that is only as good as the finished ones ends the search") {
  BeamSearch beams(plain_options(2, 9, {0, 1}));
  beams.advance(std::vector<float>(5, -1.0f));
  CHECK(beams.is_done());
  CHECK(beams.results(2)[1].ids == Ids{1});
}

TEST_CASE("a negative length penalty hopes for no longer beams") {
  BeamOptions options = plain_options(2, 10, {0});
  options.length_penalty = -1;
  options.early_stopping = EarlyStopping::never;
  BeamSearch beams(options);
  beams.advance(std::vector<float>{-1, -4, -20, -30});
  beams.advance(std::vector<float>{-5, -1, -30, -30, -50, -50, -50, -50});
  CHECK(!beams.is_done());  // -5 * 2 is better than -9 * 2, though -5 * 10 is not
  beams.advance(std::vector<float>{-50, -9, -50, -50, -50, -50, -50, -50});
  CHECK(beams.is_done());
  CHECK(beams.results(2)[1].score == -18);
}

TEST_CASE("beams go on when all of the likeliest ids are stop ids") {
  const Model model = [](const Ids&) {
    return std::vector<float>{-1.0f, -1.1f, -1.2f, -9.0f, -9.1f};
  };
  BeamOptions options = plain_options(2, 4, {0, 1, 2});
  options.early_stopping = EarlyStopping::never;
  options.length_penalty = 8;
  BeamSearch beams(options);
  for (int step = 0; step < 3; ++step) {
    REQUIRE(!beams.is_done());
    std::vector<float> rows;
    for (std::int64_t row = 0; row < beams.rows(); ++row) {
      for (const float value : model({})) rows.push_back(value);
    }
    CHECK(beams.advance(rows).size() == 2);
  }
}

TEST_CASE("a beam may end by something else than a stop id") {
  const auto ends = [](const Beam& beam) { return beam.token % 2 == 1; };
  const Model model = random_model(30, 9, 1);
  Ids odd;
  for (TokenId id = 1; id < 30; id += 2) odd.push_back(id);
  BeamOptions options = plain_options(2, 6);
  for (const BeamResult& result : search(options, model, 10, ends)) {
    for (std::size_t i = 0; i + 1 < result.ids.size(); ++i) CHECK(result.ids[i] % 2 == 0);
  }
}

TEST_CASE("too few candidates make fewer beams, none make an end") {
  const Model one = [](const Ids& ids) {
    std::vector<float> row(10, kNone);
    if (ids.size() < 3) row[7] = -0.5f;
    return row;
  };
  BeamSearch beams(plain_options(4, 10));
  std::vector<float> row = one({});
  REQUIRE(beams.advance(row).size() == 1);
  CHECK(beams.rows() == 1);
  beams.advance(row);
  const std::vector<BeamResult> early = beams.results(4);
  REQUIRE(early.size() == 1);
  CHECK(early[0].ids == Ids{7, 7});
  CHECK(early[0].score == doctest::Approx(-0.5));
  beams.advance(one({7, 7, 7}));
  CHECK(beams.is_done());
  CHECK(beams.results(4).empty());
  CHECK_THROWS_AS(beams.advance(row), std::logic_error);
}

TEST_CASE("extreme scores stay in order, senseless ones are refused") {
  const float huge = std::numeric_limits<float>::max();
  BeamSearch search(plain_options(2, 5));
  CHECK(search.results(2).empty());
  CHECK(search.advance(std::vector<float>{-huge, 0, -1e-38f}).size() == 2);
  const std::vector<float> rows = {-huge, -huge, -1e30f, -huge, kNone, 0};
  const auto next = search.advance(rows);
  REQUIRE(next.size() == 2);
  CHECK(next[0].token == 2);
  CHECK(next[0].parent == 1);
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    BeamSearch broken(plain_options(2, 5));
    std::vector<float> row(300, -2.0f);
    row[299] = bad;
    CHECK_THROWS_WITH_AS(broken.advance(row), doctest::Contains("id 299 in row 0"), Error);
  }
}

TEST_CASE("options out of their range are refused by name") {
  const auto refused = [](BeamOptions options, const char* name) {
    CHECK_THROWS_WITH_AS(BeamSearch{options}, doctest::Contains(name), Error);
  };
  refused(plain_options(0, 1), "number of beams is 0");
  refused(plain_options(2000, 1), "1 to 1024");
  refused(plain_options(2, 0), "max_new_tokens");
  BeamOptions options = plain_options(4, 1);
  options.groups = 3;
  refused(options, "divisor");
  options.groups = 1;
  options.diversity_penalty = 1;
  refused(options, "several groups");
  options.groups = 2;
  options.diversity_penalty = -1;
  refused(options, "diversity_penalty is -1");
  options.diversity_penalty = 0;
  options.length_penalty = INFINITY;
  refused(options, "length_penalty");
}

}  // namespace
}  // namespace linnet
