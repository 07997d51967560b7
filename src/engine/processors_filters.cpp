#include "engine/processors_filters.h"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>

#include "engine/counting_sort.h"
#include "engine/generation.h"
#include "tensor/functions.h"

namespace linnet {
namespace {

// The distribution's entropy and the mean of score - largest, in natural units.
struct Spread {
  double entropy = 0;
  double mean = 0;
};

Spread spread_of(Candidates& candidates) {
  const float* weights = candidates.weights().data();
  const float* scores = candidates.scores().data();
  const double largest = candidates.largest();
  const double total = lane_sum(candidates.size(), [&](std::size_t i) { return weights[i]; });
  const double mixed = lane_sum(candidates.size(), [&](std::size_t i) {
    return static_cast<double>(weights[i]) * (scores[i] - largest);
  });
  const double mean = mixed / total;
  return {std::max(0.0, natural_log(total) - mean), mean};
}

// All scores below have surely a weight / denominator of less than `least`: found without their
// exponentials, and all errors on the way are below the margin.
float surely_below(Candidates& candidates, float denominator, float least) {
  const double limit = static_cast<double>(denominator) * least;
  if (limit <= 1e-36) return -FLT_MAX;  // weights never get below e^-87
  const float largest = candidates.largest();
  const double margin = 1e-3 + 1e-6 * std::fabs(largest);
  return static_cast<float>(std::min<double>(largest + natural_log(limit) - margin, largest));
}

// Removes where weight / denominator < least; what has the largest score stays.
void keep_probable(Candidates& candidates, float denominator, float least) {
  const float largest = candidates.largest();
  candidates.keep_at_least(surely_below(candidates, denominator, least));
  const float* weights = candidates.weights().data();
  const float* scores = candidates.scores().data();
  candidates.keep_if(
      [&](std::size_t i) { return weights[i] / denominator >= least || scores[i] == largest; });
}

}  // namespace

float dynamic_temperature(Candidates& candidates, const GenerationConfig& config) {
  const float least = std::max(0.0f, config.temperature - config.dynatemp_range);
  if (candidates.size() < 2) return least;
  const double most = natural_log(static_cast<double>(candidates.size()));
  const double share = std::clamp(spread_of(candidates).entropy / most, 0.0, 1.0);
  float power = 0;
  if (share > 0) power = exp_f32(static_cast<float>(config.dynatemp_exponent * natural_log(share)));
  return least + (config.temperature + config.dynatemp_range - least) * power;
}

void keep_top_n_sigma(Candidates& candidates, float n) {
  const float* scores = candidates.scores().data();
  const auto count = static_cast<double>(candidates.size());
  const double mean = lane_sum(candidates.size(), [&](std::size_t i) { return scores[i]; }) / count;
  const double squares = lane_sum(candidates.size(), [&](std::size_t i) {
    const double distance = scores[i] - mean;
    return distance * distance;
  });
  const double bound = candidates.largest() - n * std::sqrt(squares / count);
  candidates.keep_at_least(static_cast<float>(std::max<double>(bound, -FLT_MAX)));
}

void keep_top_k(Candidates& candidates, std::int64_t k, FilterScratch& scratch) {
  const auto count = static_cast<std::size_t>(k);
  if (k <= 0 || count >= candidates.size()) return;
  candidates.keep_at_least(common_bound(candidates.scores(), count, scratch.sorting));
  std::vector<float>& sorted = scratch.sorting;
  sorted.assign(candidates.scores().begin(), candidates.scores().end());
  const auto kth = sorted.begin() + (k - 1);
  std::nth_element(sorted.begin(), kth, sorted.end(), std::greater<>());
  candidates.keep_at_least(*kth);
}

void keep_min_p(Candidates& candidates, float min_p) {
  // The largest has e^0 = 1, so the common denominator falls out of the comparison.
  if (min_p > 0) keep_probable(candidates, 1, min_p);
}

void keep_typical(Candidates& candidates, float p, FilterScratch& scratch) {
  const float largest = candidates.largest();
  const auto mean = static_cast<float>(spread_of(candidates).mean);
  const float total = candidates.total();
  const float* weights = candidates.weights().data();
  const float* scores = candidates.scores().data();
  const auto distance = [&](std::size_t i) { return std::fabs((scores[i] - largest) - mean); };
  auto& nearest = scratch.pairs;
  float last = FLT_MAX;
  // Only what is near has to be sorted; the last round takes all.
  for (const float reach : {0.25f, 1.0f, 4.0f, 16.0f, FLT_MAX}) {
    if (reach < FLT_MAX && candidates.size() < 1024) continue;
    nearest.clear();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (distance(i) <= reach) nearest.emplace_back(distance(i), static_cast<std::uint32_t>(i));
    }
    counting_sort(nearest, scratch.sorting_pairs,
                  [](const auto& pair) { return std::bit_cast<std::uint32_t>(pair.first); });
    float running = 0;
    std::size_t kept = 0;
    while (kept < nearest.size() && running < p) running += weights[nearest[kept++].second] / total;
    if (running >= p) {
      last = nearest[kept - 1].first;
      break;
    }
  }
  candidates.keep_if([&](std::size_t i) { return distance(i) <= last; });
  candidates.forget_largest();
}

void keep_epsilon(Candidates& candidates, float epsilon) {
  keep_probable(candidates, candidates.total(), epsilon);
}

void keep_eta(Candidates& candidates, float epsilon) {
  const auto entropy = static_cast<float>(spread_of(candidates).entropy);
  const float least = std::min(epsilon, std::sqrt(epsilon) * exp_f32(-entropy));
  keep_probable(candidates, candidates.total(), least);
}

void exclude_top_choices(Candidates& candidates, float threshold) {
  const float* weights = candidates.weights().data();
  const float* scores = candidates.scores().data();
  const float total = candidates.total();
  std::size_t count = 0, last = 0;
  for_each_at_least(candidates.scores(), surely_below(candidates, total, threshold),
                    [&](std::size_t i) {
                      if (weights[i] / total < threshold) return;
                      if (count == 0 || scores[i] < scores[last]) last = i;
                      ++count;
                    });
  if (count < 2) return;
  const float least = scores[last];
  candidates.keep_if([&](std::size_t i) { return scores[i] < least || i == last; });
  candidates.forget_largest();
}

void keep_mirostat_1(Candidates& candidates, float mu, FilterScratch& scratch) {
  constexpr std::size_t kObserved = 100;
  std::vector<float>& top = scratch.scores;
  top.clear();
  const float bound = common_bound(candidates.scores(), kObserved, scratch.sorting);
  for_each_at_least(candidates.scores(), bound,
                    [&](std::size_t i) { top.push_back(candidates.scores()[i]); });
  std::sort(top.begin(), top.end(), std::greater<>());
  // The exponent of the Zipf law that fits the likeliest best.
  double products = 0, squares = 0;
  for (std::size_t i = 0; i + 1 < std::min(top.size(), kObserved); ++i) {
    const double t = natural_log(static_cast<double>(i + 2) / static_cast<double>(i + 1));
    products += t * (static_cast<double>(top[i]) - top[i + 1]);
    squares += t * t;
  }
  if (squares == 0) return;
  const double zipf = products / squares;
  const double excess = zipf - 1;
  const auto count = static_cast<double>(candidates.size());
  const double power = exp_f32(static_cast<float>(-excess * natural_log(count)));
  const double base = excess == 0 ? 1 / natural_log(count) : excess / (1 - power);
  const double log_k = (natural_log(base) + mu * 0.69314718055994531) / zipf;
  // A Zipf law of exponent 0, where log k is infinite, keeps all or one; so does the clamped exp.
  const double k = std::clamp<double>(exp_f32(static_cast<float>(log_k)), 1, count);
  keep_top_k(candidates, static_cast<std::int64_t>(k), scratch);
}

void keep_mirostat_2(Candidates& candidates, float mu) {
  // Surprise above mu: probability below 2^-mu.
  keep_probable(candidates, candidates.total(), exp_f32(-mu * 0.693147181f));
}

}  // namespace linnet
