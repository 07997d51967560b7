#include "engine/pass_price.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace linnet {
namespace {

constexpr std::array<std::int64_t, 20> kSizes = {1,  2,  3,  4,   6,   8,   12,  16,  24,  32,
                                                 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024};
constexpr std::int64_t kStale = 256;       // passes
constexpr std::int64_t kSinkingRows = 64;  // and fewer
constexpr double kSinking = 0.05;          // of the way to the hopeful price, with each pass

// Weights are read once however few the rows are; then the processor is the limit.
double typical(std::int64_t rows) { return 0.02 * std::max(1.0, static_cast<double>(rows) / 32.0); }

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
  knot.median = knot.price = *median;
  for (std::size_t i = 0; i < kKnots && kSizes[i] <= kSinkingRows; ++i) {
    if (is_stale(i)) knots_[i].price -= kSinking * std::max(0.0, knots_[i].price - hopeful(i));
  }
  rebuild();
}

bool PassPrice::is_stale(std::size_t index) const {
  return knots_[index].count > 0 && passes_ - knots_[index].last > kStale;
}

// By the next knots below and above that were measured.
double PassPrice::hopeful(std::size_t index) const {
  std::size_t below = index, above = index + 1;
  while (below > 0 && knots_[below - 1].count == 0) --below;
  while (above < kKnots && knots_[above].count == 0) ++above;
  double price = 0;
  if (above < kKnots) {
    // Rows in proportion, and where none is measured below, with the share of a typical machine.
    price = knots_[above].price * static_cast<double>(kSizes[index]) /
            static_cast<double>(kSizes[above]);
    if (below == 0) price = knots_[above].price * typical(kSizes[index]) / typical(kSizes[above]);
  }
  if (below > 0) {
    const double base = knots_[below - 1].price;
    const double grown = base * typical(kSizes[index]) / typical(kSizes[below - 1]);
    price = std::max(price, above < kKnots ? base : grown);
  }
  return below == 0 && above == kKnots ? typical(kSizes[index]) : price;
}

void PassPrice::rebuild() {
  // Falling stretches are pooled into their mean, in which what was measured lately counts most.
  std::array<double, kKnots> mean{}, weight{};
  std::array<std::size_t, kKnots> size{};
  std::size_t pools = 0;
  for (std::size_t i = 0; i < kKnots; ++i) {
    mean[pools] = knots_[i].count == 0 ? hopeful(i) : knots_[i].price;
    weight[pools] = knots_[i].count == 0 ? 1e-3 : is_stale(i) ? 0.05 : 1.0;
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
  double per_row = typical(1);
  for (std::size_t i = 0; i < kKnots; ++i) {
    const auto rows = static_cast<double>(kSizes[i]);
    const double known = knots_[i].count == 0 ? rows * per_row : knots_[i].median;
    highest_[i] = std::max(curve_[i], known);
    if (knots_[i].count > 0 || i == 0) per_row = highest_[i] / rows;
  }
}

double PassPrice::along(const Curve& curve, std::int64_t rows) {
  const std::size_t below = knot_below(rows);
  if (below + 1 == kKnots) {
    return curve[below] * static_cast<double>(rows) / static_cast<double>(kSizes[below]);
  }
  const auto part = static_cast<double>(std::max<std::int64_t>(rows, 1) - kSizes[below]) /
                    static_cast<double>(kSizes[below + 1] - kSizes[below]);
  return curve[below] + (curve[below + 1] - curve[below]) * part;
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
