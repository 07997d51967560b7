// Losses of the task heads, each with the gradient of the logits: what training starts from, and
// what evaluation reports. Sums are f64. A batch in which nothing has a target has loss 0 and
// count 0, never NaN; whoever steps on it must look at the count.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace linnet {

// A target that takes no part.
inline constexpr std::int64_t kIgnoredTarget = -100;

struct Loss {
  double value = 0;             // the mean, or the sum over `divisor`
  std::int64_t count = 0;       // of targets that took part
  std::vector<float> terms;     // of each row (cross entropy) or number, not divided; 0 if ignored
  std::vector<float> gradient;  // of value by each logit
};

// Labels of consecutive sequences of these lengths become targets: the token after each row, none
// after a sequence's last. Error{invalid_argument} when the lengths do not add up.
std::vector<std::int64_t> next_token_targets(std::span<const std::int64_t> labels,
                                             std::span<const std::int64_t> lengths);

// -log softmax(logits)[target], of logits [rows, classes]. `divisor` 0: the number of targets; the
// number of targets of all batches that make one step gives the gradient of one large batch.
// Error{invalid_argument} for a target that is no class.
Loss cross_entropy(std::span<const float> logits, std::int64_t classes,
                   std::span<const std::int64_t> targets, double divisor = 0);

// Mean of (logit - target)^2 over all numbers.
Loss squared_error(std::span<const float> logits, std::span<const float> targets);

// Mean over all numbers of the cross entropy of sigmoid(logit) with a target from 0 to 1.
Loss binary_cross_entropy(std::span<const float> logits, std::span<const float> targets);

// Question answering: half the sum of the cross entropies of first and last token, over the
// columns of each text, [batch, columns]. A position at or behind the end takes no part.
struct SpanLoss {
  Loss start;
  Loss end;
  double value() const { return (start.value + end.value) / 2; }
};
// The gradients are those of value(). Error{invalid_argument} for a negative position.
SpanLoss span_cross_entropy(std::span<const float> start_logits, std::span<const float> end_logits,
                            std::int64_t columns, std::span<const std::int64_t> start_positions,
                            std::span<const std::int64_t> end_positions);

}  // namespace linnet
