#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <stdexcept>

#include "engine/pass_price.h"

namespace linnet {
namespace {

using Price = std::function<double(std::int64_t)>;

// Flat to 6 rows, 2.6 times at 16, then proportional.
double steep_machine(std::int64_t rows) {
  return 0.02 * std::max(1.0, 1.0 + 0.16 * static_cast<double>(rows - 6));
}
double flat_machine(std::int64_t rows) {
  return 0.05 * std::max(1.0, static_cast<double>(rows) / 50.0);
}

// Passes of 1 to `most` rows with a few percent of noise; one in ten is several times as long.
void feed(PassPrice& price, const Price& machine, std::int64_t most, int passes,
          std::mt19937& random) {
  std::uniform_real_distribution<double> unit(0, 1);
  for (int i = 0; i < passes; ++i) {
    const auto rows =
        static_cast<std::int64_t>(std::exp(unit(random) * std::log(static_cast<double>(most) + 1)));
    const double lost = unit(random) < 0.1 ? 1 + 9 * unit(random) : 1.0;
    price.record(rows, machine(rows) * (1 + 0.04 * unit(random)) * lost);
  }
}

void check_near(const PassPrice& price, const Price& machine, std::int64_t most, double within) {
  for (std::int64_t rows = 1; rows <= most; ++rows) {
    CAPTURE(rows);
    CHECK(price.seconds(rows) == doctest::Approx(machine(rows)).epsilon(within));
  }
}

void check_never_falls(const PassPrice& price) {
  for (std::int64_t rows = 1; rows < 3000; ++rows) {
    if (price.seconds(rows + 1) < price.seconds(rows)) FAIL("falls after ", rows, " rows");
  }
}

TEST_CASE("a price before any pass grows with the rows, less than in proportion") {
  const PassPrice price;
  CHECK(price.seconds(1) > 0);
  CHECK(price.seconds(0) == price.seconds(1));
  CHECK(price.seconds(512) > 10 * price.seconds(1));
  CHECK(price.seconds(512) < 512 * price.seconds(1));
  CHECK(price.seconds(4096) == doctest::Approx(4 * price.seconds(1024)));
  check_never_falls(price);
}

TEST_CASE("one pass tells the level of the whole curve") {
  PassPrice price;
  const double before = price.seconds(256) / price.seconds(1);
  price.record(1, 3.0);
  CHECK(price.seconds(1) == doctest::Approx(3.0));
  CHECK(price.seconds(256) / price.seconds(1) == doctest::Approx(before));
}

TEST_CASE("learns machines of different shapes in spite of noise and lost passes") {
  for (const Price& machine : {Price(steep_machine), Price(flat_machine)}) {
    std::mt19937 random(7);
    PassPrice price;
    feed(price, machine, 256, 600, random);
    check_near(price, machine, 256, 0.12);
    check_never_falls(price);
  }
}

TEST_CASE("sizes between knots teach and are told alike") {
  PassPrice price;
  for (int i = 0; i < 50; ++i) {
    for (const std::int64_t rows : {5, 10, 20, 90}) price.record(rows, steep_machine(rows));
  }
  for (const std::int64_t rows : {5, 10, 20, 90}) {
    CHECK(price.seconds(rows) == doctest::Approx(steep_machine(rows)).epsilon(0.1));
  }
}

TEST_CASE("a size between knots has the price that it was seen to have") {
  PassPrice price;
  for (int i = 0; i < 20; ++i) price.record(40, 3.0);
  CHECK(price.seconds(40) == doctest::Approx(3.0).epsilon(0.02));
}

TEST_CASE("one lost pass does not move a known price") {
  PassPrice price;
  for (int i = 0; i < 3; ++i) price.record(4, 0.02);
  price.record(4, 2.0);
  CHECK(price.seconds(4) == doctest::Approx(0.02));
}

TEST_CASE("a slow first pass is forgotten with the second") {
  PassPrice price;
  price.record(1, 2.0);
  price.record(1, 0.02);
  CHECK(price.seconds(1) == doctest::Approx(0.02));
}

TEST_CASE("follows a lasting change within a few passes") {
  PassPrice price;
  for (int i = 0; i < 100; ++i) price.record(1, 0.02);
  for (const double changed : {0.04, 0.01}) {
    for (int i = 0; i < 5; ++i) price.record(1, changed);
    CHECK(price.seconds(1) == doctest::Approx(changed));
  }
}

TEST_CASE("sizes that were not measured lie on the line of those that were") {
  PassPrice price;
  price.record(2, 1.0);
  price.record(12, 3.0);
  CHECK(price.seconds(7) == doctest::Approx(2.0));
  CHECK(price.seconds(22) == doctest::Approx(5.0));
  CHECK(price.seconds(1) < 1.0);
}

TEST_CASE("neighbouring sizes do not teach each other") {
  PassPrice price;
  for (int i = 0; i < 200; ++i) {
    price.record(40, 1.0);
    price.record(41, 1.5);
  }
  CHECK(price.seconds(40) == doctest::Approx(1.0));
  CHECK(price.seconds(41) == doctest::Approx(1.5));
}

TEST_CASE("a wrong price that is out of date sinks until it is tried again") {
  PassPrice price;
  for (int i = 0; i < 3; ++i) {
    price.record(1, 0.02);
    price.record(31, 0.05);
  }
  price.record(16, 5.0);  // lost its processor
  CHECK(price.seconds(16) > 1);
  for (int i = 0; i < 400; ++i) price.record(1, 0.02);
  CHECK(price.seconds(16) == doctest::Approx(0.035).epsilon(0.1));
  CHECK(price.seconds(31) == doctest::Approx(0.05).epsilon(0.1));
  for (int i = 0; i < 3; ++i) price.record(16, 0.04);
  CHECK(price.seconds(16) == doctest::Approx(0.04));
}

TEST_CASE("most rows is the inverse of the price") {
  std::mt19937 random(3);
  PassPrice price;
  feed(price, steep_machine, 1024, 2000, random);
  for (double limit = 0.001; limit < 20; limit *= 1.3) {
    CAPTURE(limit);
    const std::int64_t rows = price.most_rows(limit);
    if (rows > 0) CHECK(price.seconds(rows) <= limit);
    CHECK(price.seconds(rows + 1) > limit);
  }
  CHECK(price.most_rows(0) == 0);
  CHECK(price.most_rows(-1) == 0);
  CHECK(price.most_rows(std::numeric_limits<double>::quiet_NaN()) == 0);
  CHECK(price.most_rows(std::numeric_limits<double>::infinity()) > 1 << 20);
}

TEST_CASE("senseless seconds are left out, and rows must be there") {
  PassPrice price;
  price.record(2, 0.5);
  for (const double seconds : {0.0, -1.0, std::nan(""), static_cast<double>(INFINITY)}) {
    price.record(2, seconds);
  }
  CHECK(price.seconds(2) == doctest::Approx(0.5));
  CHECK_THROWS_AS(price.record(0, 1), std::logic_error);
}

TEST_CASE("any passes leave a curve that never falls and stays finite") {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> exponent(-12, 12), size(0, 12);
  for (int round = 0; round < 50; ++round) {
    PassPrice price;
    for (int i = 0; i < 300; ++i) {
      price.record(static_cast<std::int64_t>(std::exp(size(random))), std::exp(exponent(random)));
    }
    check_never_falls(price);
    CHECK(std::isfinite(price.seconds(1 << 20)));
    CHECK(price.seconds(1) > 0);
  }
}

}  // namespace
}  // namespace linnet
