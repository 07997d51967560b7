// Which stretch of a context answers a question, from the probabilities of its tokens to be the
// answer's first and last one. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace linnet {

// Tokens first to last, both of the answer.
struct AnswerSpan {
  std::size_t first = 0;
  std::size_t last = 0;
  float score = 0;  // start[first] * end[last]
  bool operator==(const AnswerSpan&) const = default;
};

// The `top` (at least 1) spans of the largest scores with first <= last and at most `most_tokens`
// tokens, best first; of equal scores the one that begins, then ends earlier. NaN is no score.
// `start` and `end` are of one size.
std::vector<AnswerSpan> best_spans(std::span<const float> start, std::span<const float> end,
                                   std::size_t most_tokens, std::size_t top);

// The most probable start and, on its own, the most probable end, which may lie before it (then
// there is no text between). Not of nothing.
AnswerSpan independent_span(std::span<const float> start, std::span<const float> end);

}  // namespace linnet
