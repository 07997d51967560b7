// Logits of a classifier as scores of its labels.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/task_head.h"

namespace linnet {

enum class ScoreFunction : std::uint8_t {
  automatic,  // what the head was trained for: see score_function()
  softmax,    // one label is right: they share 1
  sigmoid,    // each label on its own: 1 / (1 + e^-logit)
  none,       // the logits as they are
};

struct LabelScore {
  std::string label;
  float score = 0;
  bool operator==(const LabelScore&) const = default;
};

// `automatic` by the kind of problem: single_label softmax, multi_label sigmoid, regression none;
// unset with one label none, else softmax. The others stay what they are.
ScoreFunction score_function(ScoreFunction asked, ProblemType problem, std::size_t labels);

// In place; not for `automatic`.
void apply_score_function(ScoreFunction function, std::span<float> logits);

// The best `top` (0: all), best first; of equal scores the lower index first, NaN last.
std::vector<LabelScore> best_labels(std::span<const float> scores,
                                    std::span<const std::string> labels, std::int64_t top);

// The index of the largest, the first of equal ones; NaN is never it unless all are. Not of
// nothing.
std::size_t argmax(std::span<const float> values);

}  // namespace linnet
