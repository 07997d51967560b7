#include "engine/candidates.h"

#include <cfloat>
#include <cmath>

#include "base/error.h"
#include "tensor/functions.h"

namespace linnet {

Candidates::Compaction::Compaction(Candidates& candidates)
    : to(candidates), has_weights(candidates.has_weights_) {
  if (to.ids_.size() < to.scores_.size()) to.ids_.resize(to.scores_.size());
}

void Candidates::Compaction::finish() {
  if (kept == to.count_) return;
  to.count_ = kept;
  to.is_whole_ = false;
  to.has_total_ = false;
}

void Candidates::assign(std::span<const float> scores) {
  scores_.assign(scores.begin(), scores.end());
  count_ = scores.size();
  is_whole_ = true;
  forget_largest();
}

bool Candidates::settle() {
  forget_largest();
  if (largest() == kRemoved) return false;
  keep_at_least(-FLT_MAX);
  if (largest_ > FLT_MAX) keep_infinite();
  return true;
}

void Candidates::store(std::span<float> row) const {
  std::fill(row.begin(), row.end(), kRemoved);
  for (std::size_t i = 0; i < count_; ++i) row[static_cast<std::size_t>(id(i))] = scores_[i];
}

float Candidates::largest() {
  if (!has_largest_) largest_ = largest_score(scores());
  has_largest_ = true;
  return largest_;
}

std::span<const float> Candidates::weights() {
  if (!has_weights_) {
    if (weights_.size() < scores_.size()) weights_.resize(scores_.size());
    exponentials(scores_.data(), static_cast<std::int64_t>(count_), largest(), weights_.data());
  }
  has_weights_ = true;
  return {weights_.data(), count_};
}

float Candidates::total() {
  if (!has_total_) {
    total_ = 0;
    for (const float weight : weights()) total_ += weight;
  }
  has_total_ = true;
  return total_;
}

void Candidates::keep_infinite() {
  keep_at_least(largest());
  std::fill_n(scores_.begin(), count_, 0.0f);
  forget_largest();
}

void Candidates::divide(float divisor) {
  if (!std::isfinite(largest() / divisor)) return keep_infinite();
  if (divisor == 1.0f) return;
  for (float& score : row()) score /= divisor;
  largest_ /= divisor;  // division keeps the order
  has_weights_ = has_total_ = false;
}

void Candidates::keep_at_least(float bound) {
  Compaction compaction(*this);
  for (std::size_t first = 0; first < count_; first += kScanBlock) {
    const std::size_t end = std::min(first + kScanBlock, count_);
    const BlockRange range = block_range(scores_.data() + first, end - first);
    if (range.largest < bound) continue;
    if (range.least >= bound) {
      for (std::size_t i = first; i < end; ++i, ++compaction.kept) compaction.put(i);
      continue;
    }
    for (std::size_t i = first; i < end; ++i) {
      compaction.put(i);
      compaction.kept += scores_[i] >= bound ? 1 : 0;
    }
  }
  compaction.finish();
}

}  // namespace linnet
