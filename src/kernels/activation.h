// exp and the activations on lanes: a few lines of our own, so they are the same everywhere.
#pragma once

#include "kernels/kernels.h"

namespace linnet {
namespace {

// e^x for x clamped to [-87, 88]; NaN stays. x = n ln 2 + r, e^x = 2^n e^r; adding 1.5 * 2^23
// rounds to the whole number n, which then stands in the low bits of t. The polynomial is a minimax
// fit of e^r on |r| <= ln 2 / 2 (the one of exp_f32 in tensor/functions, here with fused steps).
template <class L>
[[gnu::always_inline]] inline typename L::F exponential(typename L::F x) {
  using F = typename L::F;
  x = L::min(L::splat(88.0f), L::max(L::splat(-87.0f), x));
  const F round = L::splat(12582912.0f);
  const F t = L::fma(x, L::splat(1.44269504f), round);
  const F n = L::sub(t, round);
  F r = L::fma(n, L::splat(-0.693359375f), x);
  r = L::fma(n, L::splat(2.12194440e-4f), r);
  F p = L::fma(r, L::splat(0x1.9f0862p-13f), L::splat(0x1.6d8d54p-10f));
  p = L::fma(r, p, L::splat(0x1.111272p-7f));
  p = L::fma(r, p, L::splat(0x1.55548ep-5f));
  p = L::fma(r, p, L::splat(0x1.555554p-3f));
  p = L::fma(r, p, L::splat(0.5f));
  p = L::fma(L::mul(r, r), p, r);
  return L::times_power(L::add(p, L::splat(1.0f)), t);
}

// x / (1 + e^-x); below -88 the quotient is as good as zero.
template <class L>
[[gnu::always_inline]] inline typename L::F silu(typename L::F x) {
  x = L::max(L::splat(-88.0f), x);
  const typename L::F e = exponential<L>(L::sub(L::splat(0.0f), x));
  return L::div(x, L::add(L::splat(1.0f), e));
}

// The rarer ones run lane by lane through their definition.
template <class L>
[[gnu::always_inline]] inline typename L::F activated(Activation activation, typename L::F x) {
  if (activation == Activation::silu) return silu<L>(x);
  float lanes[16];
  L::store(lanes, x);
  for (float& lane : lanes) lane = activate(activation, lane);
  return L::load(lanes);
}

}  // namespace
}  // namespace linnet
