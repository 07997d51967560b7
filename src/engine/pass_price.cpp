#include "engine/pass_price.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace linnet {
namespace {

constexpr std::int64_t kSingle = 64;  // sizes up to here have knots of their own
constexpr std::array<std::int64_t, 9> kLarger = {80, 96, 128, 192, 256, 384, 512, 768, 1024};
constexpr std::int64_t kStale = 256;  // passes
constexpr std::int64_t kLately = 128;
constexpr std::int64_t kEnough = 3;
constexpr double kSinking = 0.05;  // of the way to the line, with each pass

std::int64_t size_of(std::size_t knot) {
  const auto index = static_cast<std::int64_t>(knot);
  return index < kSingle ? index + 1 : kLarger[static_cast<std::size_t>(index - kSingle)];
}

// The last knot that is not above rows.
std::size_t knot_below(std::int64_t rows) {
  if (rows <= kSingle) return static_cast<std::size_t>(std::max<std::int64_t>(rows, 1) - 1);
  const auto above = std::upper_bound(kLarger.begin(), kLarger.end(), rows);
  return static_cast<std::size_t>(kSingle - 1 + (above - kLarger.begin()));
}

// By size on a logarithmic scale.
std::size_t nearest_knot(std::int64_t rows) {
  const std::size_t below = knot_below(rows);
  if (rows >= kLarger.back()) return below;
  return rows * rows > size_of(below) * size_of(below + 1) ? below + 1 : below;
}

// Reading the weights is a good part of the price of one row, and is done once.
double typical(double rows) { return 0.02 * (1 + 0.15 * (rows - 1)); }

}  // namespace

void PassPrice::record(std::int64_t rows, double seconds) {
  LINNET_CHECK(rows > 0);
  if (!(seconds > 0) || !std::isfinite(seconds)) return;
  const std::size_t index = nearest_knot(rows);
  Knot& knot = knots_[index];
  const double at_knot = seconds * curve_[index] / this->seconds(rows);
  knot.samples[static_cast<std::size_t>(knot.count) % kSamples] = at_knot;
  knot.count += 1;
  knot.last = ++passes_;
  const auto held = std::min<std::int64_t>(knot.count, kSamples);
  std::array<double, kSamples> sorted = knot.samples;
  const auto median = sorted.begin() + (held - 1) / 2;
  std::nth_element(sorted.begin(), median, sorted.begin() + held);
  knot.price = *median;
  for (std::size_t i = 0; i < static_cast<std::size_t>(kSingle); ++i) {
    if (is_stale(i)) knots_[i].price -= kSinking * std::max(0.0, knots_[i].price - line(i));
  }
  rebuild();
}

bool PassPrice::is_known(std::int64_t rows) const {
  const Knot& knot = knots_[nearest_knot(rows)];
  return knot.count >= kEnough && passes_ - knot.last <= kLately;
}

bool PassPrice::is_stale(std::size_t index) const {
  return knots_[index].count > 0 && passes_ - knots_[index].last > kStale;
}

// The price that the other measured knots tell.
double PassPrice::line(std::size_t index) const {
  std::size_t below = index, above = index + 1;
  while (below > 0 && knots_[below - 1].count == 0) --below;
  while (above < kKnots && knots_[above].count == 0) ++above;
  const auto rows = static_cast<double>(size_of(index));
  if (above == kKnots) return below == 0 ? typical(rows) : beyond(below - 1, rows);
  const double high = knots_[above].price;
  const auto high_rows = static_cast<double>(size_of(above));
  if (below == 0) return high * typical(rows) / typical(high_rows);
  const double low = knots_[below - 1].price;
  const auto low_rows = static_cast<double>(size_of(below - 1));
  return low + (high - low) * (rows - low_rows) / (high_rows - low_rows);
}

// Goes on from the last measured knot as the price rose there, from one of half the rows where
// there is one.
double PassPrice::beyond(std::size_t last, double rows) const {
  const double here = knots_[last].price;
  const auto here_rows = static_cast<double>(size_of(last));
  std::size_t from = last;
  for (std::size_t i = last; i-- > 0 && 2 * size_of(from) > size_of(last);) {
    if (knots_[i].count > 0) from = i;
  }
  if (from == last) return here * typical(rows) / typical(here_rows);
  const double slope =
      (here - knots_[from].price) / (here_rows - static_cast<double>(size_of(from)));
  return here + std::max(0.0, slope) * (rows - here_rows);
}

void PassPrice::rebuild() {
  // Falling stretches are pooled into their mean, in which what was measured lately counts most.
  std::array<double, kKnots> mean{}, weight{};
  std::array<std::size_t, kKnots> size{};
  std::size_t pools = 0;
  for (std::size_t i = 0; i < kKnots; ++i) {
    mean[pools] = knots_[i].count == 0 ? line(i) : knots_[i].price;
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
}

double PassPrice::seconds(std::int64_t rows) const {
  const std::size_t below = knot_below(rows);
  const auto size = static_cast<double>(size_of(below));
  if (below + 1 == kKnots) return curve_[below] * static_cast<double>(rows) / size;
  const auto part = static_cast<double>(std::max<std::int64_t>(rows, 1) - size_of(below)) /
                    static_cast<double>(size_of(below + 1) - size_of(below));
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
