#include "engine/logits.h"

#include <fmt/core.h>

#include <cfloat>
#include <cmath>
#include <cstring>
#include <functional>

#include "base/error.h"

namespace linnet {
namespace {

// Four scores as the compilers' own vector type; the largest of numbers knows no order.
using Quad = float __attribute__((vector_size(16)));
constexpr std::size_t kQuad = 4;

inline Quad load(const float* source) {
  Quad quad;
  std::memcpy(&quad, source, sizeof quad);
  return quad;
}

inline Quad greater(Quad a, Quad b) { return a > b ? a : b; }
inline Quad lesser(Quad a, Quad b) { return a < b ? a : b; }
inline float largest_of(Quad v) { return std::max(std::max(v[0], v[1]), std::max(v[2], v[3])); }
inline float least_of(Quad v) { return std::min(std::min(v[0], v[1]), std::min(v[2], v[3])); }

[[noreturn]] void refuse_logits(std::span<const float> logits) {
  for (std::size_t id = 0; id < logits.size(); ++id) {
    if (logits[id] <= FLT_MAX) continue;
    fail(ErrorCode::corrupt_file,
         fmt::format("the logit of id {} is {}: the weights are broken", id,
                     std::isnan(logits[id]) ? "not a number" : "infinite"));
  }
  fail(ErrorCode::corrupt_file,
       fmt::format("none of the {} logits is above -infinity: no token can be chosen",
                   logits.size()));
}

// The largest of every block.
void block_maxima(std::span<const float> scores, std::vector<float>& out) {
  out.clear();
  for (std::size_t first = 0; first < scores.size(); first += kScanBlock) {
    const std::size_t count = std::min(kScanBlock, scores.size() - first);
    out.push_back(block_range(scores.data() + first, count).largest);
  }
}

}  // namespace

float check_logits(std::span<const float> logits) {
  Quad high[2] = {Quad{} + kRemoved, Quad{} + kRemoved};
  auto is_fine = Quad{} <= Quad{};
  const std::size_t whole = logits.size() / (2 * kQuad) * (2 * kQuad);
  for (std::size_t i = 0; i < whole; i += 2 * kQuad) {
    const Quad a = load(logits.data() + i), b = load(logits.data() + i + kQuad);
    high[0] = greater(a, high[0]);
    high[1] = greater(b, high[1]);
    is_fine &= (a <= FLT_MAX) & (b <= FLT_MAX);
  }
  float largest = largest_of(greater(high[0], high[1]));
  bool all_fine = (is_fine[0] & is_fine[1] & is_fine[2] & is_fine[3]) != 0;
  for (std::size_t i = whole; i < logits.size(); ++i) {
    largest = std::max(largest, logits[i]);
    all_fine = all_fine && logits[i] <= FLT_MAX;
  }
  if (!all_fine || largest == kRemoved) refuse_logits(logits);
  return largest;
}

BlockRange block_range(const float* scores, std::size_t count) {
  if (count < kScanBlock) {
    const auto range = std::minmax_element(scores, scores + count);
    return {*range.first, *range.second};
  }
  Quad low = load(scores), high = low;
  Quad low_2 = load(scores + kQuad), high_2 = low_2;
  for (std::size_t i = 2 * kQuad; i < kScanBlock; i += 2 * kQuad) {
    const Quad a = load(scores + i), b = load(scores + i + kQuad);
    low = lesser(a, low);
    high = greater(a, high);
    low_2 = lesser(b, low_2);
    high_2 = greater(b, high_2);
  }
  return {least_of(lesser(low, low_2)), largest_of(greater(high, high_2))};
}

float largest_score(std::span<const float> scores) {
  float largest = kRemoved;
  for (std::size_t first = 0; first < scores.size(); first += kScanBlock) {
    const std::size_t count = std::min(kScanBlock, scores.size() - first);
    largest = std::max(largest, block_range(scores.data() + first, count).largest);
  }
  return largest;
}

TokenId first_maximum(std::span<const float> scores) {
  const float largest = largest_score(scores);
  std::size_t id = 0;
  while (id + 1 < scores.size() && scores[id] != largest) ++id;
  return static_cast<TokenId>(id);
}

float common_bound(std::span<const float> scores, std::size_t count, std::vector<float>& scratch) {
  if (count == 0 || count >= scores.size()) return kRemoved;
  // Of the blocks' largest so many reach the bound, hence so many scores do.
  if (count * kScanBlock <= scores.size()) {
    block_maxima(scores, scratch);
  } else {
    scratch.assign(scores.begin(), scores.end());
  }
  const auto nth = scratch.begin() + static_cast<std::ptrdiff_t>(count - 1);
  std::nth_element(scratch.begin(), nth, scratch.end(), std::greater<>());
  return *nth;
}

double natural_log(double x) {
  // x = m 2^e with m in [sqrt(1/2), sqrt(2)); log m = 2 atanh((m - 1) / (m + 1)).
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  const double s = (m - 1) / (m + 1);
  const double square = s * s;
  double series = 0;
  for (int odd = 23; odd >= 1; odd -= 2) series = series * square + 1.0 / odd;
  return 2 * s * series + exponent * 0.69314718055994531;
}

}  // namespace linnet
