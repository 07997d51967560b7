// Rows of scores [vocab], as the parts that choose tokens read them. A removed id has the score
// -inf.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <vector>

#include "text/tokenizer_data.h"

namespace linnet {

inline constexpr float kRemoved = -std::numeric_limits<float>::infinity();

// The largest of the logits. Error{corrupt_file} for NaN and +inf (naming the id), for an empty
// row, and when every id is removed: the weights are broken, and any choice would be noise.
float check_logits(std::span<const float> logits);

float largest_score(std::span<const float> scores);  // no NaN; -inf when empty
TokenId first_maximum(std::span<const float> scores);
// A number that at least `count` of the scores reach, and hardly more. `scratch` is overwritten.
float common_bound(std::span<const float> scores, std::size_t count, std::vector<float>& scratch);

// Sum of term(i) in f64: i goes to lane i mod 8, ascending; then lanes j + (j+4), +2, +1.
template <class Term>
double lane_sum(std::size_t count, const Term& term) {
  double lanes[8] = {};
  const std::size_t whole = count / 8 * 8;
  for (std::size_t i = 0; i < whole; i += 8) {
    for (std::size_t j = 0; j < 8; ++j) lanes[j] += term(i + j);
  }
  for (std::size_t i = whole; i < count; ++i) lanes[i - whole] += term(i);
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
         ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

// Natural logarithm of a number above 0, the same on every machine.
double natural_log(double x);

// Scores are looked at in blocks: whole blocks can then be passed over.
inline constexpr std::size_t kScanBlock = 64;
struct BlockRange {
  float least;
  float largest;
};
BlockRange block_range(const float* scores, std::size_t count);  // count <= kScanBlock

// Calls f(i), ascending, for every score of at least `bound`. f may write scores up to i.
template <class Function>
void for_each_at_least(std::span<const float> scores, float bound, const Function& f) {
  for (std::size_t first = 0; first < scores.size(); first += kScanBlock) {
    const std::size_t count = std::min(kScanBlock, scores.size() - first);
    if (block_range(scores.data() + first, count).largest < bound) continue;
    for (std::size_t i = first; i < first + count; ++i) {
      if (scores[i] >= bound) f(i);
    }
  }
}

}  // namespace linnet
