// What the multipliers of a core give at most: tiles of six rows by two vectors whose operands stay
// in the first cache. Benchmarks state their results as shares of these rates.
#pragma once

#include <cstddef>
#include <cstdint>

namespace linnet {
namespace {

constexpr int kCeilingRows = 6;

// Operations (a multiplication and its addition are two) of one round, over sixteen lanes with
// `products` per lane.
constexpr std::int64_t round_operations(std::int64_t products) {
  return 2 * kCeilingRows * 16 * products * 2;
}

// `operands` holds 1024 bytes that are read again in every round, `sums` takes what came out.
template <class L>
std::int64_t multiply_i8(std::int64_t rounds, const std::byte* operands, float* sums) {
  typename L::I lane[kCeilingRows][2];
#pragma GCC unroll 6
  for (int m = 0; m < kCeilingRows; ++m) lane[m][0] = lane[m][1] = L::splat_int(0);
  for (std::int64_t i = 0; i < rounds; ++i) {
    asm volatile("" : : "r"(operands) : "memory");
    const typename L::W low = L::load_weights(operands), high = L::load_weights(operands + 64);
#pragma GCC unroll 6
    for (int m = 0; m < kCeilingRows; ++m) {
      const typename L::A a = L::splat_quad(operands + 128 + 4 * m);
      lane[m][0] = L::dot(lane[m][0], low, a);
      lane[m][1] = L::dot(lane[m][1], high, a);
    }
  }
  // Unrolled, or the sums would live in memory all along.
#pragma GCC unroll 6
  for (int m = 0; m < kCeilingRows; ++m) {
    L::store(sums, L::to_float(L::add_int(lane[m][0], lane[m][1])));
  }
  return rounds * round_operations(4);
}

template <class L>
std::int64_t multiply_f32(std::int64_t rounds, const std::byte* operands, float* sums) {
  const auto* from = reinterpret_cast<const float*>(operands);
  typename L::F lane[kCeilingRows][2];
#pragma GCC unroll 6
  for (int m = 0; m < kCeilingRows; ++m) lane[m][0] = lane[m][1] = L::splat(0.0f);
  for (std::int64_t i = 0; i < rounds; ++i) {
    asm volatile("" : : "r"(operands) : "memory");
    const typename L::F low = L::load(from), high = L::load(from + 16);
#pragma GCC unroll 6
    for (int m = 0; m < kCeilingRows; ++m) {
      const typename L::F a = L::splat(from[32 + m]);
      lane[m][0] = L::fma(low, a, lane[m][0]);
      lane[m][1] = L::fma(high, a, lane[m][1]);
    }
  }
#pragma GCC unroll 6
  for (int m = 0; m < kCeilingRows; ++m) L::store(sums, L::add(lane[m][0], lane[m][1]));
  return rounds * round_operations(1);
}

}  // namespace
}  // namespace linnet
