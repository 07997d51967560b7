#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "engine/drafts.h"

namespace linnet {
namespace {

using Price = std::function<double(std::int64_t)>;

double steep(std::int64_t rows) {
  return 0.02 * std::max(1.0, 1.0 + 0.16 * static_cast<double>(rows - 6));
}
double linear(std::int64_t rows) { return 0.02 * (1.0 + 0.1 * static_cast<double>(rows - 1)); }
double flat(std::int64_t) { return 0.05; }
double proportional(std::int64_t rows) { return 0.02 * static_cast<double>(rows); }

PassPrice price_of(const Price& machine) {
  PassPrice price;
  for (int i = 0; i < 8; ++i) {
    for (std::int64_t rows = 1; rows <= 512; rows = rows < 48 ? rows + 1 : rows * 2) {
      price.record(rows, machine(rows));
    }
  }
  return price;
}

Draft draft_of(std::int64_t count, float confidence) {
  Draft draft;
  draft.ids.assign(static_cast<std::size_t>(count), 7);
  draft.confidence.assign(static_cast<std::size_t>(count), confidence);
  return draft;
}

// Passes whose drafts have `confidence`, of which each token is right with `chance`.
class Process {
 public:
  Process(const Price& machine, float confidence, double chance)
      : machine_(machine), price_(price_of(machine)), confidence_(confidence), chance_(chance) {}

  void set(double chance) { chance_ = chance; }
  // Tokens per second of so many passes.
  double run(DraftLength& length, int passes, const PassLoad& load = {}) {
    double tokens = 0, seconds = 0;
    for (int i = 0; i < passes; ++i) {
      Draft draft = draft_of(32, confidence_);
      draft.keep(length.choose(draft, load, price_));
      last_ = static_cast<std::int64_t>(draft.ids.size());
      std::int64_t right = 0;
      while (right < last_ && unit_(random_) < chance_) ++right;
      length.record(draft, right, load, price_);
      tokens += load.tokens + static_cast<double>(right);
      seconds += machine_(load.rows + last_);
      drafted_ += last_;
    }
    return tokens / seconds;
  }
  std::int64_t drafted() const { return drafted_; }

  double best_rate() const {
    double best = 0, tokens = 1, chance = 1;
    for (std::int64_t count = 0; count <= 32; ++count) {
      best = std::max(best, tokens / machine_(1 + count));
      chance *= chance_;
      tokens += chance;
    }
    return best;
  }

 private:
  Price machine_;
  PassPrice price_;
  float confidence_;
  double chance_;
  std::mt19937 random_{4};
  std::uniform_real_distribution<double> unit_{0, 1};
  std::int64_t last_ = 0, drafted_ = 0;
};

TEST_CASE("finds nearly the best length for any chance, whatever the drafts claim") {
  for (const Price& machine : {Price(steep), Price(linear), Price(flat)}) {
    for (const double chance : {0.02, 0.3, 0.6, 0.8, 0.95}) {
      for (const float confidence : {0.15f, 0.55f, 0.92f}) {
        CAPTURE(chance);
        CAPTURE(confidence);
        Process process(machine, confidence, chance);
        DraftLength length;
        CHECK(process.run(length, 3000) > 0.93 * process.best_rate());
      }
    }
  }
}

TEST_CASE("never loses more than three percent") {
  for (const Price& machine : {Price(steep), Price(linear), Price(proportional)}) {
    for (const double chance : {0.0, 0.05, 0.2, 0.5}) {
      CAPTURE(chance);
      Process process(machine, 0.9f, chance);
      DraftLength length;
      CHECK(process.run(length, 1000) * machine(1) > 0.97);
    }
  }
}

TEST_CASE("a draft that has become right is tried again, one that went wrong given up") {
  Process process(linear, 0.5f, 0);
  DraftLength length;
  process.run(length, 1000);
  process.set(0.95);
  process.run(length, 200);
  CHECK(process.run(length, 1000) > 0.9 * process.best_rate());
  process.set(0);
  process.run(length, 100);
  CHECK(process.run(length, 1000) * linear(1) > 0.97);
}

TEST_CASE("rows of others count: where they fill the pass, drafts do not pay") {
  // Flat to 6 rows, so a draft is free alone, and costs a sixth of a row each beside 16 others.
  Process process(steep, 0.5f, 0.1);
  DraftLength alone, crowded;
  process.run(alone, 300);
  const std::int64_t before = process.drafted();
  CHECK(before > 300);
  process.run(crowded, 300, {16, 16, 16});
  CHECK(process.drafted() - before < 60);
  // A chunk of a prompt yields nothing, so a few more rows beside it are worth having.
  DraftLength beside;
  CHECK(beside.choose(draft_of(4, 0.7f), {384, 384, 1}, price_of(proportional)) > 0);
}

// How much faster so many sequences are together with drafts than without, their drafts right by
// `chances` in turn; prices are learned on the way, from passes of which some are lost.
double batch_gain(const Price& machine, std::size_t count, const std::vector<double>& chances) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> unit(0, 1);
  PassPrice price;
  DraftRecord usual;
  std::vector<DraftLength> lengths(count, DraftLength(&usual));
  double tokens = 0, seconds = 0;
  const auto sequences = static_cast<std::int64_t>(count);
  for (int pass = 0; pass < 1500; ++pass) {
    PassLoad load{sequences, sequences, static_cast<double>(count)};
    std::vector<Draft> drafts;
    std::vector<PassLoad> loads;
    for (const DraftLength& length : lengths) {
      Draft draft = draft_of(16, 0.6f);
      draft.keep(length.choose(draft, load, price));
      loads.push_back(load);
      load.rows += static_cast<std::int64_t>(draft.ids.size());
      load.tokens += length.expected(draft);
      drafts.push_back(std::move(draft));
    }
    const double lost = unit(random) < 0.03 ? 4 : 1;
    price.record(load.rows, machine(load.rows) * (1 + 0.1 * unit(random)) * lost);
    seconds += machine(load.rows);
    for (std::size_t i = 0; i < count; ++i) {
      const auto size = static_cast<std::int64_t>(drafts[i].ids.size());
      std::int64_t right = 0;
      while (right < size && unit(random) < chances[i % chances.size()]) ++right;
      lengths[i].record(drafts[i], right, loads[i], price);
      tokens += static_cast<double>(right + 1);
    }
  }
  return tokens / seconds * machine(sequences) / static_cast<double>(count);
}

TEST_CASE("several sequences in one pass lose nothing, and win where rows are cheap") {
  for (const std::size_t count : {2, 4, 8, 16, 32}) {
    CAPTURE(count);
    for (const Price& machine : {Price(steep), Price(linear), Price(flat), Price(proportional)}) {
      CHECK(batch_gain(machine, count, {0.1, 0.3}) > 0.97);
      CHECK(batch_gain(machine, count, {0.95, 0.1, 0.5}) > 0.97);
    }
    CHECK(batch_gain(flat, count, {0.9}) > 3);
  }
  CHECK(batch_gain(linear, 4, {0.95}) > 1.7);
}

TEST_CASE("new sequences know what others learned") {
  DraftRecord usual;
  Process process(linear, 0.95f, 0);
  DraftLength first(&usual);
  process.run(first, 300);
  CHECK(usual.probability(0.95f) < 0.3);
  DraftLength second(&usual);
  const PassPrice price =
      price_of([](std::int64_t rows) { return 1 + 0.3 * static_cast<double>(rows); });
  CHECK(second.choose(draft_of(8, 0.95f), {}, price) == 0);
  CHECK(DraftLength().choose(draft_of(8, 0.95f), {}, price) > 0);
}

TEST_CASE("expected tokens are those of the chances") {
  const DraftLength length;
  CHECK(length.expected(draft_of(2, 0.5f)) == doctest::Approx(0.75));
  CHECK(length.expected({}) == 0);
}

TEST_CASE("a record of any confidence keeps its chances between 0 and 1") {
  std::mt19937 random(2);
  DraftRecord record;
  for (int i = 0; i < 1000; ++i) {
    const float confidence = static_cast<float>(random() % 1200) / 1000.0f - 0.1f;
    record.add(confidence, random() % 2 == 0);
    const double chance = record.probability(std::clamp(confidence, 0.0f, 1.0f));
    REQUIRE(chance >= 0);
    REQUIRE(chance <= 1);
  }
}

}  // namespace
}  // namespace linnet
