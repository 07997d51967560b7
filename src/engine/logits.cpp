#include "engine/logits.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <utility>

#include "base/error.h"
#include "tensor/functions.h"

namespace linnet {
namespace {

float largest(std::span<const float> scores) {
  return *std::max_element(scores.begin(), scores.end());
}

// A score and its id in one number that sorts by score, then by id.
std::uint64_t packed(float score, std::size_t id) {
  const auto bits = std::bit_cast<std::uint32_t>(score + 0.0f);  // -0 and 0 are equal scores
  const std::uint32_t ordered = (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
  return std::uint64_t{ordered} << 32 | id;
}

// Ascending order of the upper half by counting; stable, so ids that came in order stay in order.
// About ten times as fast as comparing for a whole vocabulary.
void sort_by_score(std::vector<std::uint64_t>& items) {
  constexpr std::size_t kWorthCounting = 4096;
  if (items.size() < kWorthCounting) {
    std::sort(items.begin(), items.end());
    return;
  }
  std::vector<std::uint64_t> other(items.size());
  for (int shift = 32; shift < 64; shift += 8) {
    std::array<std::size_t, 256> place{};
    for (const std::uint64_t item : items) ++place[(item >> shift) & 255];
    std::size_t before = 0;
    for (std::size_t& start : place) start = std::exchange(before, before + start);
    for (const std::uint64_t item : items) other[place[(item >> shift) & 255]++] = item;
    items.swap(other);
  }
}

}  // namespace

void check_logits(std::span<const float> logits) {
  bool any = false;
  for (std::size_t id = 0; id < logits.size(); ++id) {
    if (std::isnan(logits[id])) {
      fail(ErrorCode::corrupt_file,
           fmt::format("the logit of id {} is not a number: the weights are broken", id));
    }
    any = any || logits[id] != kRemoved;
  }
  if (!any) {
    fail(ErrorCode::corrupt_file,
         fmt::format("none of the {} logits is above -infinity: no token can be chosen",
                     logits.size()));
  }
}

TokenId first_maximum(std::span<const float> logits) {
  return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

void penalize_repetition(std::span<float> scores, std::span<const TokenId> distinct_ids,
                         float penalty) {
  for (const TokenId id : distinct_ids) {
    float& score = scores[static_cast<std::size_t>(id)];
    score = score < 0 ? score * penalty : score / penalty;
  }
}

void divide_by_temperature(std::span<float> scores, float temperature) {
  const float top = largest(scores);
  if (!std::isfinite(top / temperature)) {
    for (float& score : scores) score = score == top ? 0.0f : kRemoved;
    return;
  }
  if (temperature == 1.0f) return;
  for (float& score : scores) score /= temperature;
}

void keep_top_k(std::span<float> scores, std::int64_t k) {
  if (k <= 0 || k >= static_cast<std::int64_t>(scores.size())) return;
  std::vector<float> sorted(scores.begin(), scores.end());
  const auto kth = sorted.begin() + (k - 1);
  std::nth_element(sorted.begin(), kth, sorted.end(), std::greater<>());
  for (float& score : scores) {
    if (score < *kth) score = kRemoved;
  }
}

void keep_top_p(std::span<float> scores, float p) {
  if (p >= 1.0f) return;
  std::vector<std::uint64_t> ascending;
  for (std::size_t id = 0; id < scores.size(); ++id) {
    if (scores[id] != kRemoved) ascending.push_back(packed(scores[id], id));
  }
  if (ascending.empty()) return;
  sort_by_score(ascending);
  const auto id_at = [&](std::size_t i) { return static_cast<std::uint32_t>(ascending[i]); };
  const float top = scores[id_at(ascending.size() - 1)];
  std::vector<float> weights(ascending.size());
  float total = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] = exp_f32(scores[id_at(i)] - top);
    total += weights[i];
  }
  const float limit = 1.0f - p;
  float running = 0;
  for (std::size_t i = 0; i + 1 < weights.size(); ++i) {
    running += weights[i] / total;
    if (running > limit) break;
    scores[id_at(i)] = kRemoved;
  }
}

void keep_min_p(std::span<float> scores, float min_p) {
  if (min_p <= 0.0f) return;
  const float top = largest(scores);
  // The largest has e^0 = 1, so the common denominator falls out of the comparison.
  for (float& score : scores) {
    if (score != kRemoved && exp_f32(score - top) < min_p) score = kRemoved;
  }
}

void probabilities(std::span<const float> scores, std::vector<float>& out) {
  out.resize(scores.size());
  const float top = largest(scores);
  float total = 0;
  for (std::size_t id = 0; id < scores.size(); ++id) {
    out[id] = scores[id] == kRemoved ? 0.0f : exp_f32(scores[id] - top);
    total += out[id];
  }
  for (float& value : out) value /= total;
}

std::vector<float> log_probabilities(std::span<const float> logits) {
  check_logits(logits);
  const double top = largest(logits);
  double total = 0;
  for (const float logit : logits) total += std::exp(static_cast<double>(logit) - top);
  const double shift = top + std::log(total);
  std::vector<float> out(logits.size());
  for (std::size_t id = 0; id < logits.size(); ++id) {
    out[id] = static_cast<float>(static_cast<double>(logits[id]) - shift);
  }
  return out;
}

}  // namespace linnet
