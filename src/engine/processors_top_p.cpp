#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <utility>

#include "engine/processors_filters.h"
#include "tensor/functions.h"

// The rule of keep_top_p sums over all candidates in ascending order, one f32 addition after the
// other. What it decides is only where to cut. For large rows the cut is looked for with f64 sums
// of the likeliest alone, and a bound of how far the f32 sums can be from those; only where the
// bound leaves a doubt is everything sorted.

namespace linnet {
namespace {

// Removed is what is below `score`, and the first `equals` of its equals.
struct Cut {
  float score = 0;
  std::size_t equals = 0;
};

// Ascending, by counting digits of 11 bits; some ten times as fast as comparing.
void sort_scores(std::vector<float>& scores, std::vector<float>& other) {
  constexpr std::size_t kWorthCounting = 2048;
  constexpr int kDigits = 3, kBits = 11;
  if (scores.size() < kWorthCounting) return std::sort(scores.begin(), scores.end());
  // Bits that, as a whole number, are in the order of the scores.
  const auto digit = [](float score, int place) {
    const auto bits = std::bit_cast<std::uint32_t>(score);
    const std::uint32_t ordered = (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
    return ordered >> (place * kBits) & ((1u << kBits) - 1);
  };
  std::array<std::array<std::uint32_t, 1u << kBits>, kDigits> place{};
  for (const float score : scores) {
    for (int d = 0; d < kDigits; ++d) ++place[static_cast<std::size_t>(d)][digit(score, d)];
  }
  other.resize(scores.size());
  for (int d = 0; d < kDigits; ++d) {
    auto& next = place[static_cast<std::size_t>(d)];
    std::uint32_t before = 0;
    for (std::uint32_t& start : next) before += std::exchange(start, before);
    for (const float score : scores) other[next[digit(score, d)]++] = score;
    scores.swap(other);
  }
}

std::size_t equals_before(std::span<const float> ascending, std::size_t i) {
  std::size_t count = 0;
  while (count < i && ascending[i - count - 1] == ascending[i]) ++count;
  return count;
}

// The rule itself.
Cut cut_by_rule(Candidates& candidates, float limit, FilterScratch& scratch) {
  std::vector<float>& sorted = scratch.scores;
  std::vector<float>& weights = scratch.weights;
  sorted.assign(candidates.scores().begin(), candidates.scores().end());
  sort_scores(sorted, scratch.sorting);
  weights.resize(sorted.size());
  exponentials(sorted.data(), static_cast<std::int64_t>(sorted.size()), sorted.back(),
               weights.data());
  float total = 0;
  for (const float weight : weights) total += weight;
  float running = 0;
  std::size_t i = 0;
  for (; i + 1 < sorted.size(); ++i) {
    running += weights[i] / total;
    if (running > limit) break;
  }
  return {sorted[i], equals_before(sorted, i)};
}

// The same cut from the candidates within `depth` of the largest, or nothing.
//
// A sum of f32 numbers, none below 0, differs from the exact one by at most u = 2^-24 times the sum
// of all its running sums, each of which may be too large by n u (Higham, "Accuracy and stability
// of numerical algorithms", 4.2). With T the total, `tail` the part of T outside, of n candidates,
// and h candidates inside: T differs by u (n tail + h T) at most, each quotient by this share and
// u, and a running sum A of quotients by that share of A and u (n tail / T + h A). The factor 2
// below covers the products of these, as n u <= 1/8.
std::optional<Cut> cut_of_head(Candidates& candidates, double total, float limit, float depth,
                               FilterScratch& scratch) {
  constexpr double kRounding = 2.0 / (1 << 24);
  std::vector<float>& head = scratch.scores;
  std::vector<float>& weights = scratch.weights;
  head.clear();
  const float largest = candidates.largest();
  for_each_at_least(candidates.scores(), largest - depth,
                    [&](std::size_t i) { head.push_back(candidates.scores()[i]); });
  if (head.size() > candidates.size() / 8) return std::nullopt;
  sort_scores(head, scratch.sorting);
  weights.resize(head.size());
  exponentials(head.data(), static_cast<std::int64_t>(head.size()), largest, weights.data());
  double inside = 0;
  for (const float weight : weights) inside += weight;
  const double tail = std::max(0.0, total - inside) / total + 1e-12;
  const double outside = static_cast<double>(candidates.size() - head.size()) * tail;
  const auto inside_count = static_cast<double>(head.size());
  const auto error = [&](double sum) {
    return kRounding * (sum * (outside + inside_count + 1) + outside + inside_count * sum) + 1e-12;
  };
  double sum = tail;
  for (std::size_t i = 0; i < head.size(); ++i) {
    // What came before is surely removed.
    if (sum + error(sum) > limit) return std::nullopt;
    if (i + 1 == head.size()) return Cut{head[i], equals_before(head, i)};
    sum += weights[i] / total;
    if (sum - error(sum) > limit) return Cut{head[i], equals_before(head, i)};
  }
  return std::nullopt;
}

Cut find_cut(Candidates& candidates, float limit, FilterScratch& scratch) {
  constexpr std::size_t kLarge = 4096, kBound = std::size_t{1} << 21;
  if (candidates.size() < kLarge || candidates.size() > kBound) {
    return cut_by_rule(candidates, limit, scratch);
  }
  const float* weights = candidates.weights().data();
  const double total = lane_sum(candidates.size(), [&](std::size_t i) { return weights[i]; });
  for (const float depth : {6.0f, 9.0f, 13.0f}) {
    if (const auto cut = cut_of_head(candidates, total, limit, depth, scratch)) return *cut;
  }
  return cut_by_rule(candidates, limit, scratch);
}

}  // namespace

void keep_top_p(Candidates& candidates, float p, FilterScratch& scratch) {
  if (p >= 1.0f || candidates.size() < 2) return;
  const Cut cut = find_cut(candidates, 1.0f - p, scratch);
  candidates.keep_at_least(cut.score);
  if (cut.equals == 0) return;
  const float* scores = candidates.scores().data();
  std::size_t equals = 0;
  candidates.keep_if(
      [&](std::size_t i) { return scores[i] != cut.score || ++equals > cut.equals; });
}

}  // namespace linnet
