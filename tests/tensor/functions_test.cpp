#include "tensor/functions.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"

using namespace linnet;

namespace {

std::vector<float> random_floats(std::uint64_t seed, std::size_t count) {
  RandomStream stream(seed);
  std::vector<float> values(count);
  for (float& value : values) value = 4 * stream.next_uniform() - 2;
  return values;
}

// Distance in units of the last place of the exact value.
double ulps(float got, double exact) {
  const double spacing =
      std::nextafter(static_cast<float>(std::fabs(exact)), std::numeric_limits<float>::infinity()) -
      static_cast<float>(std::fabs(exact));
  return std::fabs(got - exact) / spacing;
}

}  // namespace

TEST_CASE("dot sums in its stated order, to the bit") {
  for (const std::int64_t count : {0, 1, 7, 8, 9, 15, 16, 64, 101}) {
    const auto a = random_floats(1, count), b = random_floats(2, count);
    float lanes[8] = {};
    for (std::int64_t i = 0; i < count; ++i) lanes[i % 8] += a[i] * b[i];
    const float expected = ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
                           ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
    CHECK(std::bit_cast<std::uint32_t>(dot(a.data(), b.data(), count)) ==
          std::bit_cast<std::uint32_t>(expected));
  }
}

TEST_CASE("tiles give the bits of single dots, whatever their size") {
  for (const std::int64_t count : {1, 5, 8, 37, 96}) {
    const auto weights = random_floats(3, 4 * count), rows = random_floats(4, 2 * count);
    for (std::int64_t w = 1; w <= 4; ++w) {
      for (std::int64_t x = 1; x <= 2; ++x) {
        std::vector<float> out(static_cast<std::size_t>(x * 10), -1.0f);
        dot_tile({weights.data(), w, rows.data(), x, count, count}, out.data(), 10);
        for (std::int64_t j = 0; j < x; ++j) {
          for (std::int64_t i = 0; i < w; ++i) {
            CHECK(out[j * 10 + i] == dot(&weights[i * count], &rows[j * count], count));
          }
          CHECK(out[j * 10 + w] == -1.0f);  // nothing beyond the tile
        }
      }
    }
  }
}

TEST_CASE("exp is within 1.1 units of the last place, and clamped") {
  double worst = 0;
  for (float x = -87.0f; x <= 88.0f; x = std::nextafter(x, 100.0f) + 1.7e-4f) {
    worst = std::max(worst, ulps(exp_f32(x), std::exp(static_cast<double>(x))));
  }
  CHECK(worst <= 1.1);
  CHECK(exp_f32(0.0f) == 1.0f);
  CHECK(exp_f32(1000.0f) == exp_f32(88.0f));
  CHECK(exp_f32(-1000.0f) == exp_f32(-87.0f));
}

TEST_CASE("exponentials of a row have the bits of exp_f32") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> x = {-kInfinity, kInfinity, 0.0f, -0.0f, 1e30f, -1e30f, 90.5f, -90.5f};
  for (float value = -92; value < 92; value += 0.0137f) x.push_back(value);
  for (std::size_t count = 0; count < 9; ++count) {
    std::vector<float> out(x.size() - count);
    exponentials(x.data() + count, static_cast<std::int64_t>(out.size()), 1.5f, out.data());
    for (std::size_t i = 0; i < out.size(); ++i) {
      const float from = x[i + count];
      CHECK(out[i] == (from == -kInfinity ? 0.0f : exp_f32(from - 1.5f)));
    }
  }
  for (std::size_t place = 0; place < 7; ++place) {
    std::vector<float> row(7, 1.0f);
    row[place] = std::numeric_limits<float>::quiet_NaN();
    exponentials(row.data(), 7, 1.0f, row.data());
    for (std::size_t i = 0; i < 7; ++i) CHECK(std::isnan(row[i]) == (i == place));
  }
}

TEST_CASE("sin and cos are good to 1e-15 beyond the longest context") {
  double worst = 0;
  for (int i = -200000; i <= 1400000; ++i) {
    const double x = i * 0.73 + 1e-3;
    worst =
        std::max({worst, std::fabs(sin_f64(x) - std::sin(x)), std::fabs(cos_f64(x) - std::cos(x))});
  }
  CHECK(worst < 1e-15);
  CHECK(sin_f64(0.0) == 0.0);
  CHECK(cos_f64(0.0) == 1.0);
}

TEST_CASE("softmax: masked entries are exactly 0, and a fully masked row has no NaN") {
  constexpr float kMasked = -std::numeric_limits<float>::infinity();
  std::vector<float> row = {-6e4f, kMasked, kMasked};
  softmax(row.data(), 3);
  CHECK(row == std::vector<float>{1, 0, 0});
  std::vector<float> masked(9, kMasked);
  softmax(masked.data(), 9);
  CHECK(masked == std::vector<float>(9, 0.0f));
  std::vector<float> large = {1000.0f, 999.0f};
  softmax(large.data(), 2);
  CHECK(large[0] == doctest::Approx(0.7310586));
}

TEST_CASE("NaN stays NaN through every function, so that broken weights are found") {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const std::vector<float>& row : {std::vector<float>{1, kNan, 2},
                                        {kNan, kNan, kNan},
                                        {kNan, -kInfinity, -kInfinity},
                                        {1, 2, kInfinity},
                                        {kInfinity, -kInfinity, kInfinity}}) {
    std::vector<float> values = row;
    softmax(values.data(), 3);
    CHECK(std::any_of(values.begin(), values.end(), [](float v) { return std::isnan(v); }));
  }
  for (const Activation each :
       {Activation::silu, Activation::gelu, Activation::gelu_tanh, Activation::relu}) {
    CHECK(std::isnan(activate(each, kNan)));
  }
}

TEST_CASE("activations at the ends and near zero") {
  for (const float x : {-100.0f, -20.0f, -3.0f, -0.05f, 0.0f, 1e-20f, 0.05f, 3.0f, 20.0f, 100.0f}) {
    const double silu = x / (1 + std::exp(-static_cast<double>(x)));
    CHECK(activate(Activation::silu, x) == doctest::Approx(silu).epsilon(1e-5));
    const double u = 0.7978845608028654 * (x + 0.044715 * std::pow(x, 3));
    CHECK(activate(Activation::gelu_tanh, x) ==
          doctest::Approx(0.5 * x * (1 + std::tanh(u))).epsilon(1e-5));
    CHECK(activate(Activation::relu, x) == std::max(x, 0.0f));
  }
}
