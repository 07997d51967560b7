// Kernels on single rows, as templates over lanes. Sums run in 64 lanes: element i goes to lane
// i mod 64, ascending; tails are filled with zeros; then (0 + 1) + (2 + 3) of the four vectors and
// the tree lane j + lane j+8, +4, +2, +1.
#pragma once

#include "kernels/kernels.h"

namespace linnet {
namespace {

template <class L>
inline float tree_sum(typename L::F value) {
  float lane[16];
  L::store(lane, value);
  for (int step = 8; step > 0; step /= 2) {
    for (int i = 0; i < step; ++i) lane[i] += lane[i + step];
  }
  return lane[0];
}

// NaN may get lost. The order is of no account, so lanes may have their own way.
template <class L>
inline float max_across(typename L::F value) {
  if constexpr (requires { L::max_across(value); }) {
    return L::max_across(value);
  } else {
    float lane[16];
    L::store(lane, value);
    for (int step = 8; step > 0; step /= 2) {
      for (int i = 0; i < step; ++i) lane[i] = lane[i] > lane[i + step] ? lane[i] : lane[i + step];
    }
    return lane[0];
  }
}

template <class L>
inline typename L::F load_tail(const float* from, std::int64_t count) {
  float lanes[16] = {};
  for (std::int64_t i = 0; i < count && i < 16; ++i) lanes[i] = from[i];
  return L::load(lanes);
}

template <class L>
inline float sum_of_squares(const float* x, std::int64_t width) {
  using F = typename L::F;
  F sum[4] = {L::splat(0.0f), L::splat(0.0f), L::splat(0.0f), L::splat(0.0f)};
  std::int64_t i = 0;
  for (; i + 64 <= width; i += 64) {
#pragma GCC unroll 4
    for (int s = 0; s < 4; ++s) {
      const F value = L::load(x + i + 16 * s);
      sum[s] = L::fma(value, value, sum[s]);
    }
  }
  for (int s = 0; i < width; i += 16, ++s) {
    const F value = load_tail<L>(x + i, width - i);
    sum[s] = L::fma(value, value, sum[s]);
  }
  return tree_sum<L>(L::add(L::add(sum[0], sum[1]), L::add(sum[2], sum[3])));
}

template <class L>
void rms_norm_row(const float* x, const float* weight, float epsilon, std::int64_t width,
                  float* out) {
  const float mean = sum_of_squares<L>(x, width) / static_cast<float>(width);
  const float factor = 1.0f / __builtin_sqrtf(mean + epsilon);
  const typename L::F scale = L::splat(factor);
  std::int64_t i = 0;
  for (; i + 16 <= width; i += 16) {
    L::store(out + i, L::mul(L::mul(L::load(x + i), scale), L::load(weight + i)));
  }
  for (; i < width; ++i) out[i] = x[i] * factor * weight[i];
}

// The largest magnitude; NaN when one is among them.
template <class L>
inline float largest_magnitude(const float* x, std::int64_t width) {
  typename L::I largest = L::splat_int(0);
  std::int64_t i = 0;
  for (; i + 16 <= width; i += 16) largest = L::max_int(largest, L::magnitude(L::load(x + i)));
  if (i < width) largest = L::max_int(largest, L::magnitude(load_tail<L>(x + i, width - i)));
  std::int32_t lane[16], bits = 0;
  L::store_int(lane, largest);
  for (const std::int32_t value : lane) bits = value > bits ? value : bits;
  return __builtin_bit_cast(float, bits);
}

template <class L>
void quantize_row(const float* x, std::int64_t width, std::int64_t padded, std::int8_t* values,
                  float* scale, std::int32_t* sum) {
  const float largest = largest_magnitude<L>(x, width);
  const bool is_finite = largest <= 3.402823466e38f;
  *scale = is_finite ? largest / 127.0f : __builtin_nanf("");
  // Below this the reciprocal overflows; such a row is as good as zero.
  const float factor = is_finite && largest > 1e-36f ? 127.0f / largest : 0.0f;
  typename L::I total = L::splat_int(0);
  for (std::int64_t i = 0; i < padded; i += 16) {
    typename L::F value = L::splat(0.0f);
    if (factor > 0.0f) {
      value = i + 16 <= width ? L::load(x + i) : load_tail<L>(x + i, width - i);
      value = L::mul(value, L::splat(factor));
      value = L::min(L::splat(127.0f), L::max(L::splat(-127.0f), value));
    }
    const typename L::I code = L::to_int(value);
    total = L::add_int(total, code);
    L::store_bytes(values + i, code);
  }
  std::int32_t lane[16];
  L::store_int(lane, total);
  *sum = 0;
  for (const std::int32_t part : lane) *sum += part;
}

}  // namespace
}  // namespace linnet
