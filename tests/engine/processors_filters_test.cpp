#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "engine/counting_sort.h"
#include "engine/generation.h"
#include "engine/processors_filters.h"
#include "tensor/functions.h"

namespace linnet {
namespace {

using Row = std::vector<float>;
using Indices = std::vector<std::size_t>;

// The rules of processors_filters.h read word for word over a whole row, removed ids in it.
float top_of(const Row& row) { return *std::max_element(row.begin(), row.end()); }

Row weights_of(const Row& row) {
  Row weights;
  const float top = top_of(row);
  for (const float x : row) weights.push_back(x == kRemoved ? 0.0f : exp_f32(x - top));
  return weights;
}

Row probabilities_of(const Row& row) {
  Row p = weights_of(row);
  float total = 0;
  for (const float weight : p) total += weight;
  for (float& each : p) each /= total;
  return p;
}

Indices present(const Row& row) {
  Indices ids;
  for (std::size_t id = 0; id < row.size(); ++id) {
    if (row[id] != kRemoved) ids.push_back(id);
  }
  return ids;
}

// The mean of score - largest, and the entropy.
std::pair<double, double> spread(const Row& row) {
  const Indices ids = present(row);
  const Row weights = weights_of(row);
  const double top = top_of(row);
  const double total = lane_sum(ids.size(), [&](std::size_t i) { return weights[ids[i]]; });
  const double mean = lane_sum(ids.size(),
                               [&](std::size_t i) {
                                 return static_cast<double>(weights[ids[i]]) * (row[ids[i]] - top);
                               }) /
                      total;
  return {mean, std::max(0.0, natural_log(total) - mean)};
}

void remove_if(Row& row, const std::function<bool(std::size_t)>& rule) {
  Row out = row;
  for (const std::size_t id : present(row)) {
    if (rule(id)) out[id] = kRemoved;
  }
  row = out;
}

void plain_top_k(Row& row, std::size_t k) {
  Row sorted = row;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  if (k < sorted.size()) remove_if(row, [&](std::size_t id) { return row[id] < sorted[k - 1]; });
}

void plain_top_p(Row& row, float p) {
  Indices order = present(row);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return row[a] < row[b]; });
  const Row weights = weights_of(row);
  float total = 0, running = 0;
  for (const std::size_t id : order) total += weights[id];
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    running += weights[order[i]] / total;
    if (running <= 1.0f - p) row[order[i]] = kRemoved;
  }
}

void plain_below(Row& row, const Row& p, float least) {
  const float top = top_of(row);
  remove_if(row, [&](std::size_t id) { return p[id] < least && row[id] != top; });
}

void plain_typical(Row& row, float p) {
  const float top = top_of(row);
  const auto mean = static_cast<float>(spread(row).first);
  const Row share = probabilities_of(row);
  const auto distance = [&](std::size_t id) { return std::fabs((row[id] - top) - mean); };
  Indices order = present(row);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return distance(a) < distance(b); });
  float running = 0, last = INFINITY;
  for (const std::size_t id : order) {
    if (running >= p) break;
    running += share[id];
    if (running >= p) last = distance(id);
  }
  remove_if(row, [&](std::size_t id) { return distance(id) > last; });
}

void plain_n_sigma(Row& row, float n) {
  const Indices ids = present(row);
  const auto count = static_cast<double>(ids.size());
  const double mean = lane_sum(ids.size(), [&](std::size_t i) { return row[ids[i]]; }) / count;
  const double square = lane_sum(
      ids.size(), [&](std::size_t i) { return (row[ids[i]] - mean) * (row[ids[i]] - mean); });
  const double bound = top_of(row) - n * std::sqrt(square / count);
  remove_if(row, [&](std::size_t id) { return row[id] < static_cast<float>(bound); });
}

void plain_xtc(Row& row, float threshold) {
  const Row p = probabilities_of(row);
  Indices likely;
  for (const std::size_t id : present(row)) {
    if (p[id] >= threshold) likely.push_back(id);
  }
  if (likely.size() < 2) return;
  const std::size_t last = *std::min_element(
      likely.begin(), likely.end(), [&](std::size_t a, std::size_t b) { return row[a] < row[b]; });
  for (const std::size_t id : likely) {
    if (id != last) row[id] = kRemoved;
  }
}

struct Filter {
  const char* name;
  std::function<void(Candidates&, FilterScratch&, float)> quick;
  std::function<void(Row&, float)> plain;
  std::vector<float> values;
};

const std::vector<Filter>& filters() {
  static const std::vector<Filter> all = {
      {"top_k",
       [](Candidates& c, FilterScratch& s, float k) {
         keep_top_k(c, static_cast<std::int64_t>(k), s);
       },
       [](Row& row, float k) { plain_top_k(row, static_cast<std::size_t>(k)); },
       {1, 2, 40, 3000}},
      {"top_p",
       [](Candidates& c, FilterScratch& s, float p) { keep_top_p(c, p, s); },
       plain_top_p,
       {1e-9f, 0.05f, 0.5f, 0.9f, 0.95f, 0.999f, 0.99999f}},
      {"min_p",
       [](Candidates& c, FilterScratch&, float p) { keep_min_p(c, p); },
       [](Row& row, float p) { plain_below(row, weights_of(row), p); },
       {1e-38f, 1e-7f, 0.05f, 0.5f, 1}},
      {"epsilon",
       [](Candidates& c, FilterScratch&, float e) { keep_epsilon(c, e); },
       [](Row& row, float e) { plain_below(row, probabilities_of(row), e); },
       {1e-30f, 3e-4f, 0.02f, 0.9f}},
      {"eta",
       [](Candidates& c, FilterScratch&, float e) { keep_eta(c, e); },
       [](Row& row, float e) {
         const auto entropy = static_cast<float>(spread(row).second);
         const float least = std::min(e, std::sqrt(e) * exp_f32(-entropy));
         plain_below(row, probabilities_of(row), least);
       },
       {1e-6f, 3e-4f, 0.02f, 0.9f}},
      {"typical",
       [](Candidates& c, FilterScratch& s, float p) { keep_typical(c, p, s); },
       plain_typical,
       {0.01f, 0.2f, 0.9f, 0.9999f}},
      {"top-n-sigma",
       [](Candidates& c, FilterScratch&, float n) { keep_top_n_sigma(c, n); },
       plain_n_sigma,
       {0.001f, 1, 3, 1e30f}},
      {"xtc",
       [](Candidates& c, FilterScratch&, float t) { exclude_top_choices(c, t); },
       plain_xtc,
       {0, 0.001f, 0.1f, 0.5f}},
      {"mirostat 2",
       [](Candidates& c, FilterScratch&, float mu) { keep_mirostat_2(c, mu); },
       [](Row& row, float mu) {
         plain_below(row, probabilities_of(row), exp_f32(-mu * 0.693147181f));
       },
       {-3, 0.5f, 5, 10, 500}},
  };
  return all;
}

Row normal_row(std::mt19937& random, std::size_t vocab, float deviation) {
  std::normal_distribution<float> normal(0, deviation);
  Row row(vocab);
  for (float& score : row) score = normal(random);
  return row;
}

// Rows that are easy to get wrong.
std::vector<std::pair<const char*, Row>> rows(std::mt19937& random, std::size_t vocab) {
  std::vector<std::pair<const char*, Row>> out;
  out.emplace_back("normal", normal_row(random, vocab, 3));
  out.emplace_back("flat", normal_row(random, vocab, 0.01f));
  out.emplace_back("uniform", Row(vocab, -2.5f));
  Row ties = normal_row(random, vocab, 2);
  for (float& score : ties) score = std::round(score);
  ties.front() = -0.0f;
  out.emplace_back("ties", ties);
  Row law(vocab);
  for (std::size_t i = 0; i < vocab; ++i) {
    law[i] = 10 - 1.5f * std::log(static_cast<float>(i + 1));
  }
  std::shuffle(law.begin(), law.end(), random);
  out.emplace_back("power law", law);
  Row peak = normal_row(random, vocab, 1);
  peak[random() % vocab] = 60;
  out.emplace_back("peak", peak);
  Row pair(vocab, -200);
  pair.front() = pair.back() = 0;
  out.emplace_back("two and nothing", pair);
  out.emplace_back("far apart", normal_row(random, vocab, 1e4f));
  out.emplace_back("huge", normal_row(random, vocab, 1e36f));
  // Weights of neighbours are equal though their scores are not.
  Row close(vocab);
  for (std::size_t i = 0; i < vocab; ++i) close[i] = 30000 + 0.002f * static_cast<float>(i % 7);
  out.emplace_back("close", close);
  for (std::size_t i = 0, count = out.size(); i < count; ++i) {
    Row holes = out[i].second;
    for (std::size_t j = 0; j < vocab / 3; ++j) holes[random() % vocab] = kRemoved;
    if (!present(holes).empty()) out.emplace_back(out[i].first, holes);
  }
  return out;
}

Row stored(const Candidates& candidates, std::size_t vocab) {
  Row row(vocab);
  candidates.store(row);
  return row;
}

void check_filter(const Filter& filter, const Row& row, float value) {
  Candidates candidates;
  FilterScratch scratch;
  candidates.assign(row);
  REQUIRE(candidates.settle());
  filter.quick(candidates, scratch, value);
  Row plain = row;
  filter.plain(plain, value);
  CAPTURE(value);
  CHECK(candidates.size() > 0);
  // The ids alone would be too long to print when they differ.
  CHECK((stored(candidates, row.size()) == plain));
  // What is kept for the next filter is that of what stays.
  CHECK(candidates.largest() == top_of(plain));
  Row weights;
  for (const float weight : weights_of(plain)) {
    if (weight > 0) weights.push_back(weight);
  }
  CHECK(std::equal(weights.begin(), weights.end(), candidates.weights().begin(),
                   candidates.weights().end()));
}

TEST_CASE("quick filters equal their rules on rows of any kind and size") {
  std::mt19937 random(7);
  for (const std::size_t vocab : {1, 2, 17, 300, 5000}) {
    CAPTURE(vocab);
    for (const auto& [name, row] : rows(random, vocab)) {
      const std::string row_name = name;
      CAPTURE(row_name);
      for (const Filter& filter : filters()) {
        CAPTURE(filter.name);
        for (const float value : filter.values) check_filter(filter, row, value);
      }
    }
  }
}

TEST_CASE("quick filters equal their rules on a whole vocabulary") {
  std::mt19937 random(8);
  for (const auto& [name, row] : rows(random, 128256)) {
    const std::string row_name = name;
    CAPTURE(row_name);
    for (const Filter& filter : filters()) {
      CAPTURE(filter.name);
      check_filter(filter, row, filter.values[filter.values.size() / 2]);
    }
  }
}

TEST_CASE("the quick cut of top_p is the rule's, near the limit too") {
  // Many rows with limits at their own running sums: the doubt has to be seen.
  std::mt19937 random(9);
  for (int round = 0; round < 60; ++round) {
    const float deviation = 0.5f + 0.1f * static_cast<float>(round);
    const Row row = normal_row(random, 2500, deviation);
    Row p = probabilities_of(row);
    std::sort(p.begin(), p.end());
    float running = 0;
    const std::size_t middle = random() % p.size();
    for (std::size_t i = 0; i <= middle; ++i) running += p[i];
    for (const float near :
         {running, std::nextafter(running, 0.0f), std::nextafter(running, 1.0f)}) {
      check_filter(filters()[1], row, 1.0f - near);
    }
  }
}

TEST_CASE("filters one after the other equal their rules one after the other") {
  std::mt19937 random(10);
  for (int round = 0; round < 150; ++round) {
    Row plain = rows(random, 1 + random() % 3000)[random() % 10].second;
    const std::size_t vocab = plain.size();
    Candidates candidates;
    FilterScratch scratch;
    candidates.assign(plain);
    REQUIRE(candidates.settle());
    for (int step = 0; step < 5; ++step) {
      const Filter& filter = filters()[random() % filters().size()];
      const float value = filter.values[random() % filter.values.size()];
      CAPTURE(filter.name);
      CAPTURE(value);
      filter.quick(candidates, scratch, value);
      filter.plain(plain, value);
      REQUIRE((stored(candidates, vocab) == plain));
    }
  }
}

Row filtered(const char* name, Row row, float value) {
  for (const Filter& filter : filters()) {
    if (std::string(filter.name) != name) continue;
    Candidates candidates;
    FilterScratch scratch;
    candidates.assign(row);
    candidates.settle();
    filter.quick(candidates, scratch, value);
    candidates.store(row);
  }
  return row;
}

TEST_CASE("filters by hand") {
  const Row logs = {std::log(0.1f), std::log(0.2f), std::log(0.3f), std::log(0.4f)};
  const Row last_two = {kRemoved, kRemoved, logs[2], logs[3]};
  CHECK(filtered("top_p", logs, 0.65f) == last_two);
  CHECK(filtered("top_p", logs, 0.5f) == last_two);
  CHECK(filtered("top_p", {0, 0, 0, 0}, 0.4f) == Row{kRemoved, kRemoved, 0, 0});
  CHECK(filtered("top_k", {1, 3, 2, 2, 0}, 2) == Row{kRemoved, 3, 2, 2, kRemoved});
  CHECK(filtered("min_p", {0, std::log(0.04f), std::log(0.06f)}, 0.05f) ==
        Row{0, kRemoved, std::log(0.06f)});
  CHECK(filtered("min_p", {2, 2, 1}, 1) == Row{2, 2, kRemoved});
  CHECK(filtered("epsilon", logs, 0.25f) == last_two);
  CHECK(filtered("epsilon", logs, 0.9f) == Row{kRemoved, kRemoved, kRemoved, logs[3]});
  CHECK(filtered("xtc", logs, 0.25f) == Row{logs[0], logs[1], logs[2], kRemoved});
  CHECK(filtered("xtc", logs, 0.35f) == logs);
  CHECK(filtered("top-n-sigma", {0, 0, 3, 3}, 1) == Row{kRemoved, kRemoved, 3, 3});
  CHECK(filtered("mirostat 2", logs, 2) == last_two);  // a quarter at least
}

TEST_CASE("temperature: infinite scores and overflow leave the largest only") {
  const auto divided = [](Row row, float divisor) {
    Candidates candidates;
    candidates.assign(row);
    REQUIRE(candidates.settle());
    candidates.divide(divisor);
    candidates.store(row);
    return row;
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  CHECK(divided({1, kInfinity, kRemoved, kInfinity}, 1) == Row{kRemoved, 0, kRemoved, 0});
  CHECK(divided({3e38f, 2e38f, -3e38f}, 1e-3f) == Row{0, kRemoved, kRemoved});
  CHECK(divided({-3e38f, -2e38f}, 1e-3f) == Row{kRemoved, 0});
  CHECK(divided({1, -3}, 0) == Row{0, kRemoved});
  CHECK(divided({1.25f, -3}, 1) == Row{1.25f, -3});
  CHECK(divided({1.25f, -3}, 2) == Row{0.625f, -1.5f});
}

TEST_CASE("dynamic temperature goes from certain to even") {
  GenerationConfig config;
  config.temperature = 1;
  config.dynatemp_range = 0.5f;
  const auto temperature = [&](const Row& row) {
    Candidates candidates;
    candidates.assign(row);
    candidates.settle();
    return dynamic_temperature(candidates, config);
  };
  CHECK(temperature({0, 0, 0, 0}) == doctest::Approx(1.5));
  CHECK(temperature({80, 0, 0, 0}) == doctest::Approx(0.5));
  CHECK(temperature({3}) == 0.5f);
  // Half of ln 4: two of four.
  CHECK(temperature({0, 0, -80, -80}) == doctest::Approx(1.0));
  config.dynatemp_exponent = 2;
  CHECK(temperature({0, 0, -80, -80}) == doctest::Approx(0.75));
  config.dynatemp_range = 3;
  CHECK(temperature({80, 0}) == doctest::Approx(0));
}

TEST_CASE("mirostat 1 keeps as many as a Zipf law of the likeliest tells") {
  Row law(1000);
  for (std::size_t i = 0; i < law.size(); ++i) law[i] = -2 * std::log(static_cast<float>(i + 1));
  for (const float mu : {1.0f, 3.0f, 6.0f}) {
    Candidates candidates;
    FilterScratch scratch;
    candidates.assign(law);
    candidates.settle();
    keep_mirostat_1(candidates, mu, scratch);
    const double k = std::sqrt(1 / (1 - std::pow(1000.0, -1.0)) * std::exp2(mu));
    CHECK(candidates.size() == static_cast<std::size_t>(k));
  }
  for (const Row& row : {Row{1}, Row{1, 1, 1}, Row{5, -5}}) {
    Candidates candidates;
    FilterScratch scratch;
    candidates.assign(row);
    candidates.settle();
    keep_mirostat_1(candidates, 3, scratch);
    CHECK(candidates.size() >= 1);
  }
}

TEST_CASE("counting equals comparing") {
  std::mt19937 random(11);
  for (const std::size_t size : {0, 5, 1023, 1024, 70000}) {
    std::vector<std::uint64_t> items(size), other, expected;
    const auto key = [](std::uint64_t item) { return static_cast<std::uint32_t>(item >> 20); };
    for (auto& item : items) item = std::uint64_t{random() % 3000 * 1431655} << 20 | random() % 64;
    expected = items;
    std::stable_sort(expected.begin(), expected.end(),
                     [&](std::uint64_t a, std::uint64_t b) { return key(a) < key(b); });
    counting_sort(items, other, key);
    CHECK((items == expected));
  }
}

}  // namespace
}  // namespace linnet
