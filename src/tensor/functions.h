// The arithmetic that every lane must agree on, bit for bit, on every machine: one order of sums,
// our own exp, sin and cos. Plain f32 (no contraction); compilers may vectorise, never reorder.
#pragma once

#include <cstdint>

namespace linnet {

// Sum of a[i] * b[i]: element i goes to lane i mod 8, ascending; then lanes j + (j+4), +2, +1.
float dot(const float* a, const float* b, std::int64_t count);
// out[w][x] = dot(weights row w, rows row x) for `weight_count` <= 4 and `row_count` <= 2 rows at a
// time; the same bits as dot, with each loaded number used several times.
struct DotTile {
  const float* weights;  // [weight_count, count]
  std::int64_t weight_count;
  const float* rows;  // [row_count, count], `row_stride` apart
  std::int64_t row_count;
  std::int64_t row_stride;
  std::int64_t count;
};
void dot_tile(const DotTile& tile, float* out, std::int64_t out_row_stride);

// e^x, to 1.1 ulp; x is clamped to [-87, 88].
float exp_f32(float x);
double sin_f64(double x);  // |x| <= 2^30
double cos_f64(double x);

// out[i] = exp(x[i] - shift), with the bits of exp_f32; 0 for -inf, NaN for NaN. out may be x.
void exponentials(const float* x, std::int64_t count, float shift, float* out);
// In place: values[i] = exp(values[i] - max); returns the sum (8 lanes, fixed tree). Empty: 0.
float softmax_numerators(float* values, std::int64_t count);
// Softmax in place. A row of -inf only gives zeros.
void softmax(float* values, std::int64_t count);

enum class Activation : std::uint8_t { silu, gelu, gelu_tanh, relu };

float activate(Activation activation, float x);
// out[i] = activation(gate[i]) * up[i]
void gated_activation(Activation activation, const float* gate, const float* up, float* out,
                      std::int64_t count);

// out = x / sqrt(mean(x^2) + epsilon) * weight (Zhang and Sennrich, "Root mean square layer
// normalization"); one row of `count`.
void rms_norm(const float* x, const float* weight, float epsilon, float* out, std::int64_t count);

}  // namespace linnet
