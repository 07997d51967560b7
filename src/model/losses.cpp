#include "model/losses.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/error.h"

namespace linnet {
namespace {

void require_count(std::string_view what, std::size_t got, std::size_t wanted) {
  if (got == wanted) return;
  fail(ErrorCode::invalid_argument,
       fmt::format("loss: {} {} for {} numbers of logits", got, what, wanted));
}

// Writes probabilities times `scale`; returns log(sum(exp(row))).
double scaled_softmax(std::span<const float> row, double scale, std::span<float> out) {
  const double top = *std::max_element(row.begin(), row.end());
  double total = 0;
  for (const float logit : row) total += std::exp(static_cast<double>(logit) - top);
  for (std::size_t i = 0; i < row.size(); ++i) {
    const double p = std::exp(static_cast<double>(row[i]) - top) / total;
    out[i] = static_cast<float>(p * scale);
  }
  return top + std::log(total);
}

std::int64_t count_targets(std::span<const std::int64_t> targets, std::int64_t classes) {
  std::int64_t count = 0;
  for (std::size_t row = 0; row < targets.size(); ++row) {
    if (targets[row] == kIgnoredTarget) continue;
    if (targets[row] < 0 || targets[row] >= classes) {
      fail(ErrorCode::invalid_argument,
           fmt::format("loss: the target {} of row {} is none of {} classes, nor {} for no target",
                       targets[row], row, classes, kIgnoredTarget));
    }
    ++count;
  }
  return count;
}

// The mean of `term` and its derivative over all pairs of numbers.
template <typename Term>
Loss mean_of(std::span<const float> logits, std::span<const float> targets, Term term) {
  require_count("targets", targets.size(), logits.size());
  Loss loss;
  loss.count = static_cast<std::int64_t>(logits.size());
  const auto count = static_cast<double>(logits.size());
  double sum = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    double slope = 0;
    const double value =
        term(static_cast<double>(logits[i]), static_cast<double>(targets[i]), slope);
    sum += value;
    loss.terms.push_back(static_cast<float>(value));
    loss.gradient.push_back(static_cast<float>(slope / count));
  }
  if (loss.count > 0) loss.value = sum / count;
  return loss;
}

}  // namespace

std::vector<std::int64_t> next_token_targets(std::span<const std::int64_t> labels,
                                             std::span<const std::int64_t> lengths) {
  std::vector<std::int64_t> targets(labels.size(), kIgnoredTarget);
  std::size_t first = 0;
  for (const std::int64_t length : lengths) {
    const std::size_t left = labels.size() - first;
    if (length < 0 || static_cast<std::size_t>(length) > left) {
      fail(ErrorCode::invalid_argument, fmt::format("loss: a sequence of {} rows where {} labels "
                                                    "are left",
                                                    length, left));
    }
    const auto rows = static_cast<std::size_t>(length);
    for (std::size_t i = 1; i < rows; ++i) targets[first + i - 1] = labels[first + i];
    first += rows;
  }
  require_count("labels in the sequences", first, labels.size());
  return targets;
}

Loss cross_entropy(std::span<const float> logits, std::int64_t classes,
                   std::span<const std::int64_t> targets, double divisor) {
  if (classes < 1) fail(ErrorCode::invalid_argument, "loss: there are no classes");
  const auto width = static_cast<std::size_t>(classes);
  require_count("targets times classes", targets.size() * width, logits.size());
  Loss loss;
  loss.count = count_targets(targets, classes);
  loss.terms.assign(targets.size(), 0.0f);
  loss.gradient.assign(logits.size(), 0.0f);
  if (loss.count == 0) return loss;
  if (divisor == 0) divisor = static_cast<double>(loss.count);
  double sum = 0;
  for (std::size_t row = 0; row < targets.size(); ++row) {
    if (targets[row] == kIgnoredTarget) continue;
    const auto source = logits.subspan(row * width, width);
    const auto gradient = std::span(loss.gradient).subspan(row * width, width);
    const auto target = static_cast<std::size_t>(targets[row]);
    const double term =
        scaled_softmax(source, 1 / divisor, gradient) - static_cast<double>(source[target]);
    gradient[target] -= static_cast<float>(1 / divisor);
    loss.terms[row] = static_cast<float>(term);
    sum += term;
  }
  loss.value = sum / divisor;
  return loss;
}

Loss squared_error(std::span<const float> logits, std::span<const float> targets) {
  return mean_of(logits, targets, [](double logit, double target, double& slope) {
    slope = 2 * (logit - target);
    return (logit - target) * (logit - target);
  });
}

Loss binary_cross_entropy(std::span<const float> logits, std::span<const float> targets) {
  return mean_of(logits, targets, [](double logit, double target, double& slope) {
    // log(1 + e^x) without overflow.
    const double small = std::exp(-std::fabs(logit));
    slope = (logit >= 0 ? 1 / (1 + small) : small / (1 + small)) - target;
    return std::max(logit, 0.0) - logit * target + std::log1p(small);
  });
}

SpanLoss span_cross_entropy(std::span<const float> start_logits, std::span<const float> end_logits,
                            std::int64_t columns, std::span<const std::int64_t> start_positions,
                            std::span<const std::int64_t> end_positions) {
  const auto half = [&](std::span<const float> logits, std::span<const std::int64_t> positions) {
    std::vector<std::int64_t> targets(positions.begin(), positions.end());
    for (std::int64_t& target : targets) {
      if (target < 0) {
        fail(ErrorCode::invalid_argument, fmt::format("loss: the position {} is negative", target));
      }
      if (target >= columns) target = kIgnoredTarget;
    }
    Loss loss = cross_entropy(logits, columns, targets);
    for (float& slope : loss.gradient) slope /= 2;
    return loss;
  };
  return {half(start_logits, start_positions), half(end_logits, end_positions)};
}

}  // namespace linnet
