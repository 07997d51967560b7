#include "engine/pass_price.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace linnet {
namespace {

constexpr std::array<std::int64_t, 20> kSizes = {1,  2,  3,  4,   6,   8,   12,  16,  24,  32,
                                                 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024};
constexpr std::int64_t kStale = 64;  // passes after which a knot moves along with others
constexpr double kShareKept = 0.95;  // of a knot's share, from pass to pass

// Weights are read once however few the rows are; then the processor is the limit.
double typical(std::int64_t rows) { return 0.02 * std::max(1.0, static_cast<double>(rows) / 8.0); }

// The last knot that is not above rows.
std::size_t knot_below(std::int64_t rows) {
  const auto above =
      std::upper_bound(kSizes.begin(), kSizes.end(), std::max<std::int64_t>(1, rows));
  return static_cast<std::size_t>(above - kSizes.begin()) - 1;
}

}  // namespace

void PassPrice::record(std::int64_t rows, double seconds) {
  LINNET_CHECK(rows > 0);
  if (!(seconds > 0) || !std::isfinite(seconds)) return;
  std::size_t index = knot_below(rows);
  // By size on a logarithmic scale.
  if (index + 1 < kKnots && rows * rows > kSizes[index] * kSizes[index + 1]) ++index;
  Knot& knot = knots_[index];
  const double at_knot = seconds * curve_[index] / this->seconds(rows);
  knot.samples[static_cast<std::size_t>(knot.count) % kSamples] = at_knot;
  knot.count += 1;
  knot.last = ++passes_;
  const auto held = std::min<std::int64_t>(knot.count, kSamples);
  std::array<double, kSamples> sorted = knot.samples;
  const auto median = sorted.begin() + (held - 1) / 2;
  std::nth_element(sorted.begin(), median, sorted.begin() + held);
  const double before = knot.value;
  knot.value = *median;
  for (Knot& other : knots_) other.share *= kShareKept;
  knot.share += 1 - kShareKept;
  if (before > 0) follow(index, knot.value / before);
  rebuild();
}

// The shares of all knots sum to at most 1, so that a change of the whole machine, which each of
// the measured knots sees, moves the others once.
void PassPrice::follow(std::size_t changed, double factor) {
  if (factor == 1.0) return;
  const double part = std::pow(factor, knots_[changed].share);
  for (Knot& knot : knots_) {
    if (knot.count == 0 || passes_ - knot.last <= kStale) continue;
    knot.value *= part;
    for (double& sample : knot.samples) sample *= part;
  }
}

void PassPrice::rebuild() {
  // Measured values over typical ones; between two measured knots along the line, beyond them flat.
  std::array<double, kKnots> ratio{};
  std::size_t measured = kKnots;
  for (std::size_t i = 0; i < kKnots; ++i) {
    if (knots_[i].count == 0) {
      ratio[i] = measured == kKnots ? 0 : ratio[measured];
      continue;
    }
    const double here = knots_[i].value / typical(kSizes[i]);
    const std::size_t first = measured == kKnots ? 0 : measured + 1;
    const double there = measured == kKnots ? here : ratio[measured];
    for (std::size_t j = first; j <= i; ++j) {
      const auto part = static_cast<double>(j + 1 - first) / static_cast<double>(i + 1 - first);
      ratio[j] = there + (here - there) * part;
    }
    measured = i;
  }
  // Falling stretches are pooled into their mean, in which what was measured lately counts most.
  std::array<double, kKnots> mean{}, weight{};
  std::array<std::size_t, kKnots> size{};
  std::size_t pools = 0;
  for (std::size_t i = 0; i < kKnots; ++i) {
    mean[pools] = typical(kSizes[i]) * (measured == kKnots ? 1.0 : ratio[i]);
    weight[pools] = knots_[i].count == 0 ? 1e-3 : 0.05 + knots_[i].share;
    size[pools++] = 1;
    while (pools > 1 && mean[pools - 1] < mean[pools - 2]) {
      const std::size_t last = --pools, into = last - 1;
      const double total = weight[into] + weight[last];
      mean[into] = (mean[into] * weight[into] + mean[last] * weight[last]) / total;
      weight[into] = total;
      size[into] += size[last];
    }
  }
  std::size_t at = 0;
  for (std::size_t pool = 0; pool < pools; ++pool) {
    for (std::size_t i = 0; i < size[pool]; ++i) curve_[at++] = mean[pool];
  }
}

double PassPrice::seconds(std::int64_t rows) const {
  const std::size_t below = knot_below(rows);
  if (below + 1 == kKnots) {
    return curve_[below] * static_cast<double>(rows) / static_cast<double>(kSizes[below]);
  }
  const auto part = static_cast<double>(std::max<std::int64_t>(rows, 1) - kSizes[below]) /
                    static_cast<double>(kSizes[below + 1] - kSizes[below]);
  return curve_[below] + (curve_[below + 1] - curve_[below]) * part;
}

std::int64_t PassPrice::most_rows(double seconds_limit) const {
  if (!(seconds(1) <= seconds_limit)) return 0;
  std::int64_t low = 1, high = std::int64_t{1} << 40;
  while (low + 1 < high) {
    const std::int64_t middle = low + (high - low) / 2;
    (seconds(middle) <= seconds_limit ? low : high) = middle;
  }
  return low;
}

}  // namespace linnet
