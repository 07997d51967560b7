#include "engine/answer_spans.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/error.h"
#include "engine/label_scores.h"

namespace linnet {

namespace {

bool is_better(const AnswerSpan& a, const AnswerSpan& b) {
  return std::tie(b.score, a.first, a.last) < std::tie(a.score, b.first, b.last);
}

}  // namespace

std::vector<AnswerSpan> best_spans(std::span<const float> start, std::span<const float> end,
                                   std::size_t most_tokens, std::size_t top) {
  LINNET_CHECK(start.size() == end.size() && top > 0);
  std::vector<AnswerSpan> heap;  // the best so far, the worst of them in front
  for (std::size_t first = 0; first < start.size(); ++first) {
    const std::size_t stop = first + std::min(most_tokens, start.size() - first);
    for (std::size_t last = first; last < stop; ++last) {
      const AnswerSpan span = {first, last, start[first] * end[last]};
      if (std::isnan(span.score)) continue;
      if (heap.size() == top) {
        if (!is_better(span, heap.front())) continue;
        std::pop_heap(heap.begin(), heap.end(), is_better);
        heap.pop_back();
      }
      heap.push_back(span);
      std::push_heap(heap.begin(), heap.end(), is_better);
    }
  }
  std::sort_heap(heap.begin(), heap.end(), is_better);
  return heap;
}

AnswerSpan independent_span(std::span<const float> start, std::span<const float> end) {
  const std::size_t first = argmax(start), last = argmax(end);
  return {first, last, start[first] * end[last]};
}

}  // namespace linnet
