#include <doctest/doctest.h>

#include <cmath>

#include "base/random.h"
#include "quantize/dither.h"
#include "quantize/float_weights.h"
#include "quantize/outer_products.h"
#include "quantize/round_rows.h"
#include "quantize/smoothing.h"

using namespace linnet;

namespace {

// Uniform in [-1, 1), the same for the same seed.
std::vector<float> noise(std::uint64_t seed, std::int64_t count) {
  std::vector<float> out;
  for (const std::uint32_t word :
       random_words(RandomKey::from_seed(seed), static_cast<std::size_t>(count))) {
    out.push_back(static_cast<float>(word >> 8) * 0x1p-23f - 1.0f);
  }
  return out;
}

// Mean of x x^T over inputs whose columns depend on each other, with damping; whole matrix.
std::vector<float> second_moments(std::int64_t width, std::int64_t tokens, std::uint64_t seed) {
  const auto raw = noise(seed, tokens * width);
  std::vector<float> x(raw.size());
  for (std::int64_t t = 0; t < tokens; ++t) {
    float carry = 0;
    for (std::int64_t k = 0; k < width; ++k) {
      const auto i = static_cast<std::size_t>(t * width + k);
      carry = 0.8f * carry + raw[i];
      x[i] = carry * (k % 7 == 0 ? 5.0f : 1.0f);
    }
  }
  std::vector<float> h(static_cast<std::size_t>(width * width));
  double diagonal = 0;
  for (std::int64_t i = 0; i < width; ++i) {
    for (std::int64_t j = 0; j < width; ++j) {
      double sum = 0;
      for (std::int64_t t = 0; t < tokens; ++t) {
        sum += static_cast<double>(x[static_cast<std::size_t>(t * width + i)]) *
               static_cast<double>(x[static_cast<std::size_t>(t * width + j)]);
      }
      h[static_cast<std::size_t>(i * width + j)] =
          static_cast<float>(sum / static_cast<double>(tokens));
    }
    diagonal += static_cast<double>(h[static_cast<std::size_t>(i * width + i)]);
  }
  for (std::int64_t i = 0; i < width; ++i) {
    h[static_cast<std::size_t>(i * width + i)] +=
        static_cast<float>(0.01 * diagonal / static_cast<double>(width));
  }
  return h;
}

// tr(E H E^T) of the rounded rows.
double error_in(const std::vector<float>& h, const std::vector<float>& weights, RowFormat format,
                const std::vector<RoundedRow>& rows, std::int64_t width) {
  double sum = 0;
  std::vector<float> values(static_cast<std::size_t>(width));
  for (std::size_t row = 0; row < rows.size(); ++row) {
    decode_row(format, rows[row], values.data());
    for (std::size_t k = 0; k < values.size(); ++k) {
      values[k] = weights[row * values.size() + k] - values[k];
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      double part = 0;
      for (std::size_t j = 0; j < values.size(); ++j) {
        part += static_cast<double>(h[i * values.size() + j]) * static_cast<double>(values[j]);
      }
      sum += part * static_cast<double>(values[i]);
    }
  }
  return sum;
}

}  // namespace

TEST_CASE("gram and factor: R R^T is the sum of outer products, for odd sizes and threads") {
  for (const std::int64_t size : {1, 31, 130, 521}) {
    for (const int threads : {1, 3}) {
      CAPTURE(size);
      ThreadPool pool(threads);
      const auto h = second_moments(size, 40, 7);
      const auto x = noise(3, 40 * size);
      std::vector<float> gram = h;
      add_gram({x.data(), 40, size, size}, 0.5f, gram.data(), size, pool);
      const auto at = [size](std::int64_t i, std::int64_t j) {
        return static_cast<std::size_t>(i * size + j);
      };
      for (std::int64_t i = 0; i < size; i += 13) {
        for (std::int64_t j = i; j < size; j += 7) {
          double sum = 2.0 * static_cast<double>(h[at(i, j)]);
          for (std::int64_t t = 0; t < 40; ++t) {
            sum += static_cast<double>(x[at(t, i)]) * static_cast<double>(x[at(t, j)]);
          }
          REQUIRE(static_cast<double>(gram[at(i, j)]) == doctest::Approx(sum / 2).epsilon(1e-4));
        }
      }
      std::vector<float> r = h;
      REQUIRE(factor_upper(r.data(), size, pool));
      for (std::int64_t i = 0; i < size; i += 11) {
        for (std::int64_t j = i; j < size; j += 5) {
          double sum = 0;
          for (std::int64_t c = j; c < size; ++c) {
            sum += static_cast<double>(r[at(i, c)]) * static_cast<double>(r[at(j, c)]);
          }
          REQUIRE(sum == doctest::Approx(static_cast<double>(h[at(i, j)])).epsilon(1e-3));
        }
      }
    }
  }
}

TEST_CASE("a matrix that is not positive definite has no factor") {
  ThreadPool pool(1);
  std::vector<float> h = {1, 2, 2, 1};
  CHECK_FALSE(factor_upper(h.data(), 2, pool));
  std::vector<float> zeros(9);
  CHECK_FALSE(factor_upper(zeros.data(), 3, pool));
}

TEST_CASE("error feedback makes the error in the norm of H smaller, in every format") {
  constexpr std::int64_t kRows = 37;
  for (const std::int64_t width : {96, 200}) {
    const auto weights = noise(1, kRows * width);
    const auto h = second_moments(width, 400, 2);
    std::vector<float> factor = h, squares;
    ThreadPool pool(2), alone(1);
    REQUIRE(factor_upper(factor.data(), width, pool));
    for (std::int64_t k = 0; k < width; ++k) {
      squares.push_back(h[static_cast<std::size_t>(k * width + k)]);
    }
    for (const RowFormat format :
         {RowFormat::n4, RowFormat::s6, RowFormat::i8, RowFormat::affine4}) {
      CAPTURE(row_format_name(format));
      RoundRowsJob job;
      job.format = format;
      job.weights = weights.data();
      job.rows = kRows;
      job.width = width;
      const double plain = error_in(h, weights, format, round_rows(job, pool), width);
      job.importance = squares;
      const double important = error_in(h, weights, format, round_rows(job, pool), width);
      job.factor = factor.data();
      const auto rows = round_rows(job, pool);
      const double fed_back = error_in(h, weights, format, rows, width);
      CHECK(fed_back < 0.7 * plain);
      CHECK(fed_back < 0.8 * important);
      // The same codes by another number of threads.
      const auto again = round_rows(job, alone);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        CHECK(rows[i].n4.codes == again[i].n4.codes);
        CHECK(rows[i].i8.codes == again[i].i8.codes);
        CHECK(rows[i].affine4.codes == again[i].affine4.codes);
      }
    }
  }
}

TEST_CASE("with independent inputs of equal size feedback changes nothing") {
  constexpr std::int64_t kWidth = 130;
  const auto weights = noise(5, 9 * kWidth);
  std::vector<float> identity(kWidth * kWidth);
  for (std::size_t k = 0; k < kWidth; ++k) identity[k * kWidth + k] = 2.0f;
  ThreadPool pool(1);
  REQUIRE(factor_upper(identity.data(), kWidth, pool));
  RoundRowsJob job;
  job.weights = weights.data();
  job.rows = 9;
  job.width = kWidth;
  for (const RowFormat format : {RowFormat::n4, RowFormat::s6, RowFormat::i8, RowFormat::affine4}) {
    job.format = format;
    job.factor = nullptr;
    const auto plain = round_rows(job, pool);
    job.factor = identity.data();
    const auto fed_back = round_rows(job, pool);
    std::vector<float> a(kWidth), b(kWidth);
    for (std::size_t row = 0; row < 9; ++row) {
      decode_row(format, plain[row], a.data());
      decode_row(format, fed_back[row], b.data());
      CHECK(a == b);
    }
  }
}

TEST_CASE("rows of zeros stay zeros") {
  ThreadPool pool(1);
  const std::vector<float> zeros(2 * 70);
  std::vector<float> factor(70 * 70), values(70, 1.0f);
  for (std::size_t k = 0; k < 70; ++k) factor[k * 70 + k] = 1;
  RoundRowsJob job;
  job.weights = zeros.data();
  job.rows = 2;
  job.width = 70;
  job.factor = factor.data();
  for (const RowFormat format : {RowFormat::n4, RowFormat::s6, RowFormat::i8, RowFormat::affine4}) {
    job.format = format;
    for (const RoundedRow& row : round_rows(job, pool)) {
      decode_row(format, row, values.data());
      CHECK(values == std::vector<float>(70));
    }
  }
}

TEST_CASE("smoothing factors are the square roots of the sizes, with mean one") {
  const auto factors = smoothing_factors({1.0f, 16.0f, 0.0f, 81.0f});
  CHECK(factors[0] == doctest::Approx(1 / 1.5));
  CHECK(factors[1] == doctest::Approx(2 / 1.5));
  CHECK(factors[2] == doctest::Approx(0.001));
  CHECK(factors[3] == doctest::Approx(3 / 1.5));
  CHECK(smoothing_factors({0.0f, 0.0f}) == std::vector<float>{1, 1});
}

TEST_CASE("dithering moves numbers within half a step of their grid, by the seed") {
  ThreadPool pool(2);
  std::vector<float> values;
  for (int i = 0; i < 2 * 48; ++i) values.push_back(0.25f * static_cast<float>(i * i % 11) - 1.0f);
  const Tensor matrix = Tensor::from_values({2, 48}, values);
  const auto moved = dithered(matrix, 1, pool).to_floats();
  float largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    largest = std::max(largest, std::fabs(moved[i] - values[i]));
  }
  CHECK(largest <= 0.125f);
  CHECK(largest > 0.1f);
  CHECK(moved == dithered(matrix, 1, pool).to_floats());
  CHECK(moved != dithered(matrix, 2, pool).to_floats());
  const Tensor flat = Tensor::from_values({1, 3}, std::vector<float>{2, 2, 2});
  CHECK(dithered(flat, 1, pool).to_floats() == std::vector<float>{2, 2, 2});
}
