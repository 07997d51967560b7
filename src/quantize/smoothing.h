// Smoothing (Xiao et al., "SmoothQuant"): large columns of a linear's input are made smaller and
// its weights larger by the same factors, so that one scale per token suits the whole row. The
// inverse factors are folded into what makes the input; the function stays the same.
#pragma once

#include <vector>

#include "quantize/calibration.h"
#include "quantize/float_weights.h"
#include "quantize/program_part.h"

namespace linnet {

// t_k = sqrt(r_k) for the root mean square r_k of column k, over the mean of all; at least 0.001.
std::vector<float> smoothing_factors(const std::vector<float>& squares);

// The moments of an input that was divided by the factors.
void divide_moments(Moments& moments, const std::vector<float>& factors);

// Divides what makes the group's input by the factors. The group can be smoothed.
void fold_factors(const LinearGroup& group, const std::vector<float>& factors,
                  FloatWeights& weights);

}  // namespace linnet
