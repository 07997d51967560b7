#include "engine/logits.h"

#include <fmt/core.h>

#include <cfloat>
#include <cmath>
#include <functional>

#include "base/error.h"

namespace linnet {
namespace {

constexpr std::size_t kLanes = 16;

// Lanes let the compiler use vector instructions; the largest of numbers knows no order.
float largest_of(const float (&lanes)[kLanes]) {
  return *std::max_element(std::begin(lanes), std::end(lanes));
}

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
  float lanes[kLanes];
  std::fill(std::begin(lanes), std::end(lanes), kRemoved);
  int broken[kLanes] = {};
  const std::size_t whole = logits.size() / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) {
      const float x = logits[i + j];
      lanes[j] = x > lanes[j] ? x : lanes[j];
      broken[j] |= x <= FLT_MAX ? 0 : 1;
    }
  }
  for (std::size_t i = whole; i < logits.size(); ++i) {
    lanes[0] = std::max(lanes[0], logits[i]);
    broken[0] |= logits[i] <= FLT_MAX ? 0 : 1;
  }
  const float largest = largest_of(lanes);
  const bool is_broken = std::any_of(std::begin(broken), std::end(broken), [](int b) { return b; });
  if (is_broken || largest == kRemoved) refuse_logits(logits);
  return largest;
}

BlockRange block_range(const float* scores, std::size_t count) {
  if (count == kScanBlock) {
    float low[kLanes], high[kLanes];
    std::copy_n(scores, kLanes, low);
    std::copy_n(scores, kLanes, high);
    for (std::size_t i = kLanes; i < kScanBlock; i += kLanes) {
      for (std::size_t j = 0; j < kLanes; ++j) {
        const float x = scores[i + j];
        low[j] = x < low[j] ? x : low[j];
        high[j] = x > high[j] ? x : high[j];
      }
    }
    return {*std::min_element(std::begin(low), std::end(low)), largest_of(high)};
  }
  const auto range = std::minmax_element(scores, scores + count);
  return {*range.first, *range.second};
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
