#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "engine/counting_sort.h"
#include "engine/processors_filters.h"

// The rule of keep_top_p sums over all candidates in ascending order, one f32 addition after the
// other. What it decides is only where to cut. For large rows the cut is looked for with f64 sums,
// and a bound of how far the f32 sums can be from those; only where the bound leaves a doubt is
// everything sorted. Weights stand for scores: where the weights of different scores are equal,
// their order changes no sum.

namespace linnet {
namespace {

// The first weight that stays, in ascending order, and how many of its equals go.
struct Cut {
  float weight = 0;
  std::size_t equals = 0;
};

void sort_weights(std::vector<float>& weights, std::vector<float>& other) {
  counting_sort(weights, other, [](float weight) { return std::bit_cast<std::uint32_t>(weight); });
}

Cut cut_at(std::span<const float> ascending, std::size_t i) {
  std::size_t count = 0;
  while (count < i && ascending[i - count - 1] == ascending[i]) ++count;
  return {ascending[i], count};
}

// The rule itself.
Cut cut_by_rule(std::span<const float> weights, float limit, FilterScratch& scratch) {
  std::vector<float>& sorted = scratch.scores;
  sorted.assign(weights.begin(), weights.end());
  sort_weights(sorted, scratch.sorting);
  float total = 0;
  for (const float weight : sorted) total += weight;
  float running = 0;
  std::size_t i = 0;
  for (; i + 1 < sorted.size(); ++i) {
    running += sorted[i] / total;
    if (running > limit) break;
  }
  return cut_at(sorted, i);
}

// The weights, which are at most 1, by their power of two.
struct Octaves {
  static constexpr std::size_t kCount = 128;
  std::array<double, kCount> count{};
  std::array<double, kCount> sum{};
  // Bounds of sums over ascending weights: of all weights below, and of all running sums below.
  std::array<double, kCount> sum_below{};
  std::array<double, kCount> running_below{};
  double total = 0;
  double running = 0;

  static std::size_t of(float weight) { return std::bit_cast<std::uint32_t>(weight) >> 23; }

  explicit Octaves(std::span<const float> weights) {
    // Several tables, so that additions to the same place do not wait for each other.
    constexpr std::size_t kTables = 4;
    std::array<std::array<std::uint32_t, kCount>, kTables> counts{};
    std::array<std::array<double, kCount>, kTables> sums{};
    for (std::size_t i = 0; i < weights.size(); ++i) {
      ++counts[i % kTables][of(weights[i])];
      sums[i % kTables][of(weights[i])] += weights[i];
    }
    for (std::size_t octave = 0; octave < kCount; ++octave) {
      for (std::size_t table = 0; table < kTables; ++table) {
        count[octave] += counts[table][octave];
        sum[octave] += sums[table][octave];
      }
      sum_below[octave] = total;
      running_below[octave] = running;
      total += sum[octave];
      running += count[octave] * total;
    }
  }
};

// A sum of f32 numbers, none below 0, differs from the exact one by at most u = 2^-24 times the sum
// of its running sums, which themselves may be too large by n u (Higham, "Accuracy and stability of
// numerical algorithms", 4.2). With T the total, R the sum of the running sums of all weights, and
// R' of those up to here: the f32 total differs by the share u R / T at most, each quotient by this
// and u, and a running sum A of quotients by (u R / T + u) A + u R' / T. Up to 2^20 candidates the
// products of these are less than a fifth of them.
double error_of(const Octaves& octaves, std::size_t octave, double running) {
  constexpr double kRounding = 1.2 / (1 << 24);
  const double so_far =
      octaves.running_below[octave] / octaves.total + octaves.count[octave] * running;
  return kRounding * (running * (octaves.running / octaves.total + 2) + so_far) + 1e-12;
}

// The same cut as the rule's, or nothing.
std::optional<Cut> quick_cut(std::span<const float> weights, float limit, FilterScratch& scratch) {
  const Octaves octaves(weights);
  // The octave in which the running sum comes near the limit.
  std::size_t first = Octaves::kCount - 1;
  while (first > 0 && octaves.sum_below[first] > 0.9 * limit * octaves.total) --first;
  const float most = std::bit_cast<float>(static_cast<std::uint32_t>(first + 1) << 23);
  // A step over the limit must be longer than the doubt on both sides of it.
  if (error_of(octaves, first, limit) * octaves.total > most) return std::nullopt;
  std::vector<float>& head = scratch.scores;
  head.clear();
  for_each_at_least(weights, most / 2, [&](std::size_t i) { head.push_back(weights[i]); });
  sort_weights(head, scratch.sorting);
  double sum = octaves.sum_below[first];
  for (std::size_t i = 0; i < head.size(); ++i) {
    const std::size_t octave = Octaves::of(head[i]);
    const double before = sum / octaves.total;
    // What came before is surely removed.
    if (before + error_of(octaves, octave, before) > limit) return std::nullopt;
    sum += head[i];
    const double running = sum / octaves.total;
    if (i + 1 == head.size() || running - error_of(octaves, octave, running) > limit) {
      return cut_at(head, i);
    }
  }
  return std::nullopt;
}

Cut find_cut(std::span<const float> weights, float limit, FilterScratch& scratch) {
  constexpr std::size_t kLarge = 2048, kBound = std::size_t{1} << 20;
  if (weights.size() >= kLarge && weights.size() <= kBound) {
    if (const auto cut = quick_cut(weights, limit, scratch)) return *cut;
  }
  return cut_by_rule(weights, limit, scratch);
}

}  // namespace

void keep_top_p(Candidates& candidates, float p, FilterScratch& scratch) {
  if (p >= 1.0f || candidates.size() < 2) return;
  const std::span<const float> weights = candidates.weights();
  const Cut cut = find_cut(weights, 1.0f - p, scratch);
  // Of equal weights the first by score, then by id, go.
  auto& equals = scratch.pairs;
  equals.clear();
  for_each_at_least(weights, cut.weight, [&](std::size_t i) {
    if (weights[i] == cut.weight) {
      equals.emplace_back(candidates.scores()[i], static_cast<std::uint32_t>(i));
    }
  });
  std::sort(equals.begin(), equals.end());
  const float least = equals[cut.equals].first;
  std::size_t removed = 0;
  while (removed < cut.equals && equals[cut.equals - removed - 1].first == least) ++removed;
  candidates.keep_at_least(least);
  if (removed == 0) return;
  const float* scores = candidates.scores().data();
  std::size_t seen = 0;
  candidates.keep_if([&](std::size_t i) { return scores[i] != least || ++seen > removed; });
}

}  // namespace linnet
