#include "tensor/functions.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace linnet {
namespace {

constexpr std::int64_t kLanes = 8;

// Four f32 lanes as the compilers' own vector type: one SSE or NEON register, with the same result
// of every operation. Eight lanes are two of them: a wider type would live on the stack where the
// machine the code is built for has no such register.
using Quad = float __attribute__((vector_size(16)));

inline Quad load(const float* source) {
  Quad quad;
  std::memcpy(&quad, source, sizeof quad);
  return quad;
}

inline float tree_sum(Quad low, Quad high) {
  const Quad v = low + high;  // lanes j + (j + 4)
  return (v[0] + v[2]) + (v[1] + v[3]);
}

// The last lanes of a sum, filled up with zeros.
struct Tail {
  float lanes[kLanes] = {};
  Tail(const float* source, std::int64_t count) {
    std::memcpy(lanes, source, static_cast<std::size_t>(count) * sizeof(float));
  }
};

template <int kWeights, int kRows>
struct TileSums {
  Quad low[kWeights][kRows] = {};
  Quad high[kWeights][kRows] = {};

  // Adds the products of eight elements of every weight row w[i] and every row x[j].
  __attribute__((always_inline)) inline void add(const float* const* w, const float* const* x,
                                                 std::int64_t k) {
#pragma GCC unroll 4
    for (int j = 0; j < kRows; ++j) {
      const Quad x_low = load(x[j] + k), x_high = load(x[j] + k + 4);
#pragma GCC unroll 4
      for (int i = 0; i < kWeights; ++i) {
        low[i][j] += load(w[i] + k) * x_low;
        high[i][j] += load(w[i] + k + 4) * x_high;
      }
    }
  }
};

template <int kWeights, int kRows>
void tile_of(const DotTile& tile, float* out, std::int64_t out_row_stride) {
  TileSums<kWeights, kRows> sums;
  const float* w[kWeights];
  const float* x[kRows];
  for (int i = 0; i < kWeights; ++i) w[i] = tile.weights + i * tile.count;
  for (int j = 0; j < kRows; ++j) x[j] = tile.rows + j * tile.row_stride;
  const std::int64_t whole = tile.count / kLanes * kLanes;
  for (std::int64_t k = 0; k < whole; k += kLanes) sums.add(w, x, k);
  if (whole < tile.count) {
    const std::int64_t rest = tile.count - whole;
    for (int i = 0; i < kWeights; ++i) {
      const Tail tail_w(w[i] + whole, rest);
      for (int j = 0; j < kRows; ++j) {
        const Tail tail_x(x[j] + whole, rest);
        sums.low[i][j] += load(tail_w.lanes) * load(tail_x.lanes);
        sums.high[i][j] += load(tail_w.lanes + 4) * load(tail_x.lanes + 4);
      }
    }
  }
  for (int i = 0; i < kWeights; ++i) {
    for (int j = 0; j < kRows; ++j) {
      out[j * out_row_stride + i] = tree_sum(sums.low[i][j], sums.high[i][j]);
    }
  }
}

}  // namespace

float dot(const float* a, const float* b, std::int64_t count) {
  float out;
  tile_of<1, 1>({a, 1, b, 1, 0, count}, &out, 0);
  return out;
}

// One row of activations uses each weight once, so memory decides: weight rows then come one after
// the other as a single stream, which is twice as fast as four rows side by side.
void dot_tile(const DotTile& tile, float* out, std::int64_t out_row_stride) {
  DotTile part = tile;
  for (std::int64_t i = 0; i < tile.weight_count;) {
    const std::int64_t left = tile.weight_count - i;
    part.weights = tile.weights + i * tile.count;
    if (tile.row_count == 2 && left >= 2) {
      tile_of<2, 2>(part, out + i, out_row_stride);
      i += 2;
    } else if (tile.row_count == 2) {
      tile_of<1, 2>(part, out + i, out_row_stride);
      i += 1;
    } else {
      tile_of<1, 1>(part, out + i, out_row_stride);
      i += 1;
    }
  }
}

namespace {

// What exp_f32 does, on one number or on four.
template <class Real, class Int, class Convert>
inline Real exp_of(Real x, Convert to_int) {
  // x = n ln 2 + r with |r| <= ln 2 / 2: e^x = 2^n e^r. The first part of ln 2 has few bits, so its
  // product with n is exact. The polynomial is a minimax fit of e^r on that interval.
  const Real low = Real{} - 87.0f, high = Real{} + 88.0f;
  x = low < x ? x : low;
  x = x < high ? x : high;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number
  const Real n = (x * 1.44269504f + kRound) - kRound;
  const Real r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  Real p = 0x1.6d8d54p-10f + r * 0x1.9f0862p-13f;
  p = 0x1.111272p-7f + r * p;
  p = 0x1.55548ep-5f + r * p;
  p = 0x1.555554p-3f + r * p;
  p = 0.5f + r * p;
  p = 1.0f + (r + (r * r) * p);
  return std::bit_cast<Real>(std::bit_cast<Int>(p) + (to_int(n) << 23));
}

}  // namespace

float exp_f32(float x) {
  // Unsigned: a negative exponent may be shifted.
  return exp_of<float, std::uint32_t>(
      x, [](float n) { return static_cast<std::uint32_t>(static_cast<std::int32_t>(n)); });
}

namespace {

// Reduces x to r in [-pi/4, pi/4]; returns the quadrant. pi/2 in three parts, each of 33 bits or
// fewer, so that n times a part is exact for |n| < 2^20.
int reduce_angle(double x, double& r) {
  const double n = std::nearbyint(x * 0x1.45f306dc9c883p-1);
  r = ((x - n * 0x1.921fb544p+0) - n * 0x1.0b4611a6p-34) - n * 0x1.3198a2e037073p-69;
  return static_cast<int>(static_cast<std::int64_t>(n) & 3);
}

// Taylor series to beyond double precision on [-pi/4, pi/4].
double sin_series(double r) {
  const double s = r * r;
  double p = -1.0 / 1307674368000;
  for (const double factorial : {6227020800.0, -39916800.0, 362880.0, -5040.0, 120.0, -6.0}) {
    p = p * s + 1.0 / factorial;
  }
  return r + r * s * p;
}

double cos_series(double r) {
  const double s = r * r;
  double p = 1.0 / 20922789888000;
  for (const double factorial :
       {-87178291200.0, 479001600.0, -3628800.0, 40320.0, -720.0, 24.0, -2.0}) {
    p = p * s + 1.0 / factorial;
  }
  return 1.0 + s * p;
}

}  // namespace

double sin_f64(double x) {
  double r;
  const int quadrant = reduce_angle(x, r);
  const double value = quadrant % 2 == 0 ? sin_series(r) : cos_series(r);
  return quadrant < 2 ? value : -value;
}

double cos_f64(double x) {
  double r;
  const int quadrant = reduce_angle(x, r);
  const double value = quadrant % 2 == 0 ? cos_series(r) : sin_series(r);
  return quadrant == 0 || quadrant == 3 ? value : -value;
}

void exponentials(const float* x, std::int64_t count, float shift, float* out) {
  using Ints = std::int32_t __attribute__((vector_size(16)));
  using Words = std::uint32_t __attribute__((vector_size(16)));
  constexpr float kLeast = -std::numeric_limits<float>::infinity();
  const auto words_of = [](Quad n) {
    return std::bit_cast<Words>(__builtin_convertvector(n, Ints));
  };
  // -inf must give 0, not the 1.6e-38 of the clamped exp. NaN, which exp would clamp as well, must
  // stay: broken weights are found by it.
  const std::int64_t whole = count / 4 * 4;
  for (std::int64_t i = 0; i < whole; i += 4) {
    const Quad from = load(x + i);
    const Quad difference = from - shift;
    Quad e = exp_of<Quad, Words>(difference, words_of);
    e = difference == difference ? e : difference;
    e = from == Quad{} + kLeast ? Quad{} : e;
    std::memcpy(out + i, &e, sizeof e);
  }
  for (std::int64_t i = whole; i < count; ++i) {
    const float difference = x[i] - shift;
    const float e = std::isnan(difference) ? difference : exp_f32(difference);
    out[i] = x[i] == kLeast ? 0.0f : e;
  }
}

float softmax_numerators(float* values, std::int64_t count) {
  float largest = -std::numeric_limits<float>::infinity();
  for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, values[i]);
  // A row of nothing but -inf and NaN: the shift must not make NaN of -inf.
  if (largest == -std::numeric_limits<float>::infinity()) largest = 0.0f;
  exponentials(values, count, largest, values);
  Quad low = {}, high = {};
  const std::int64_t whole = count / kLanes * kLanes;
  for (std::int64_t i = 0; i < whole; i += kLanes) {
    low += load(values + i);
    high += load(values + i + 4);
  }
  const Tail tail(values + whole, count - whole);
  return tree_sum(low + load(tail.lanes), high + load(tail.lanes + 4));
}

void softmax(float* values, std::int64_t count) {
  const float sum = softmax_numerators(values, count);
  if (sum == 0.0f) return;
  for (std::int64_t i = 0; i < count; ++i) values[i] /= sum;
}

namespace {

float silu(float x) {
  // Below -88 e^-x leaves the range of f32, so the quotient is zero.
  return x < -88.0f ? -0.0f : x / (1.0f + exp_f32(-x));
}

float tanh_f32(float x) {
  if (x > 10.0f) return 1.0f;
  if (x < -10.0f) return -1.0f;
  // Near zero 1 - e would lose digits; the series is exact enough there.
  if (std::fabs(x) < 0.1f) {
    const float s = x * x;
    return x + x * s * (-1.0f / 3 + s * (2.0f / 15 - s * (17.0f / 315)));
  }
  const float e = exp_f32(2.0f * x);
  return (e - 1.0f) / (e + 1.0f);
}

}  // namespace

float activate(Activation activation, float x) {
  switch (activation) {
    case Activation::silu:
      return silu(x);
    case Activation::gelu:
      return static_cast<float>(0.5 * x * (1.0 + std::erf(x * 0.70710678118654752)));
    case Activation::gelu_tanh: {
      const float inner = 0.7978845608f * (x + 0.044715f * x * x * x);
      return 0.5f * x * (1.0f + tanh_f32(inner));
    }
    case Activation::relu:
      return x <= 0.0f ? 0.0f : x;  // NaN stays
  }
  return x;
}

void gated_activation(Activation activation, const float* gate, const float* up, float* out,
                      std::int64_t count) {
  if (activation == Activation::silu) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = silu(gate[i]) * up[i];
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) out[i] = activate(activation, gate[i]) * up[i];
}

void rms_norm(const float* x, const float* weight, float epsilon, float* out, std::int64_t count) {
  const float mean = dot(x, x, count) / static_cast<float>(count);
  const float scale = 1.0f / std::sqrt(mean + epsilon);
  for (std::int64_t i = 0; i < count; ++i) out[i] = x[i] * scale * weight[i];
}

}  // namespace linnet
