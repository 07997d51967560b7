#include "engine/label_scores.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "tensor/functions.h"

namespace linnet {

namespace {

bool is_better(float a, float b) { return a > b || (std::isnan(b) && !std::isnan(a)); }

}  // namespace

ScoreFunction score_function(ScoreFunction asked, ProblemType problem, std::size_t labels) {
  if (asked != ScoreFunction::automatic) return asked;
  switch (problem) {
    case ProblemType::regression:
      return ScoreFunction::none;
    case ProblemType::multi_label:
      return ScoreFunction::sigmoid;
    case ProblemType::single_label:
      return ScoreFunction::softmax;
    case ProblemType::unset:
      break;
  }
  return labels == 1 ? ScoreFunction::none : ScoreFunction::softmax;
}

void apply_score_function(ScoreFunction function, std::span<float> logits) {
  LINNET_CHECK(function != ScoreFunction::automatic);
  if (function == ScoreFunction::softmax) {
    softmax(logits.data(), static_cast<std::int64_t>(logits.size()));
  } else if (function == ScoreFunction::sigmoid) {
    // exp_f32 clamps NaN; broken weights must stay visible.
    for (float& value : logits) value = std::isnan(value) ? value : 1.0f / (1.0f + exp_f32(-value));
  }
}

std::vector<LabelScore> best_labels(std::span<const float> scores,
                                    std::span<const std::string> labels, std::int64_t top) {
  LINNET_CHECK(scores.size() == labels.size());
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return is_better(scores[a], scores[b]); });
  if (top > 0 && static_cast<std::size_t>(top) < order.size())
    order.resize(static_cast<std::size_t>(top));
  std::vector<LabelScore> best;
  for (const std::size_t index : order) best.push_back({labels[index], scores[index]});
  return best;
}

std::size_t argmax(std::span<const float> values) {
  LINNET_CHECK(!values.empty());
  std::size_t best = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (is_better(values[i], values[best])) best = i;
  }
  return best;
}

}  // namespace linnet
