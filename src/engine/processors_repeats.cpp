#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "engine/generation.h"
#include "engine/logits.h"
#include "engine/processors_history.h"

namespace linnet {
namespace {

// No sequence of `length` ids comes twice (transformers, NoRepeatNGramLogitsProcessor).
class NoRepeatNgram final : public LogitsProcessor {
 public:
  explicit NoRepeatNgram(std::int64_t length) : before_(static_cast<std::size_t>(length - 1)) {}

  void process(std::span<const TokenId> ids, std::size_t, std::span<float> scores) override {
    if (ids.size() <= before_) return;
    if (before_ == 0) {
      for (const TokenId id : ids) score_of(scores, id, "a prompt id") = kRemoved;
      return;
    }
    suffix_lengths(ids, before_, lengths_);
    for (std::size_t d = 1; d < ids.size(); ++d) {
      if (lengths_[d] >= before_) {
        score_of(scores, ids[ids.size() - d], "a prompt id") = kRemoved;
      }
    }
  }
  std::unique_ptr<LogitsProcessor> clone() const override {
    return std::make_unique<NoRepeatNgram>(*this);
  }

 private:
  std::size_t before_;
  std::vector<std::uint32_t> lengths_;
};

// "Don't repeat yourself" (p-e-w, text-generation-webui pull request 5677): where the end of the
// text, back to a breaker, repeats n >= allowed ids that came before and do not overlap it, the id
// that followed them loses multiplier * base^(n - allowed). Of several n the largest counts.
class Dry final : public LogitsProcessor {
 public:
  explicit Dry(const GenerationConfig& config)
      : multiplier_(config.dry_multiplier),
        base_(config.dry_base),
        allowed_(static_cast<std::size_t>(config.dry_allowed_length)),
        range_(config.dry_range),
        breakers_(config.dry_breaker_ids.begin(), config.dry_breaker_ids.end()) {}

  void process(std::span<const TokenId> ids, std::size_t, std::span<float> scores) override {
    if (range_ >= 0) ids = ids.last(std::min(ids.size(), static_cast<std::size_t>(range_)));
    std::size_t unbroken = 0;
    while (unbroken < ids.size() && !breakers_.contains(ids[ids.size() - 1 - unbroken])) ++unbroken;
    if (unbroken < allowed_) return;
    suffix_lengths(ids, unbroken, lengths_);
    if (longest_.size() < scores.size()) longest_.resize(scores.size());
    touched_.clear();
    for (std::size_t d = allowed_; d < ids.size(); ++d) {
      const auto length = std::min(lengths_[d], static_cast<std::uint32_t>(d));
      if (length < allowed_) continue;
      const TokenId next = ids[ids.size() - d];
      score_of(scores, next, "a prompt id");
      std::uint32_t& longest = longest_[static_cast<std::size_t>(next)];
      if (longest == 0) touched_.push_back(next);
      longest = std::max(longest, length);
    }
    for (const TokenId id : touched_) {
      std::uint32_t& longest = longest_[static_cast<std::size_t>(id)];
      const double penalty = multiplier_ * whole_power(base_, longest - allowed_);
      float& score = scores[static_cast<std::size_t>(id)];
      score = static_cast<float>(score - std::min(penalty, 1e30));
      longest = 0;
    }
  }
  std::unique_ptr<LogitsProcessor> clone() const override { return std::make_unique<Dry>(*this); }

 private:
  double multiplier_;
  double base_;
  std::size_t allowed_;
  std::int64_t range_;
  std::unordered_set<TokenId> breakers_;
  std::vector<std::uint32_t> lengths_;
  std::vector<std::uint32_t> longest_;  // by id; 0 between calls
  std::vector<TokenId> touched_;
};

}  // namespace

void suffix_lengths(std::span<const TokenId> ids, std::size_t most,
                    std::vector<std::uint32_t>& lengths) {
  const std::size_t count = ids.size();
  lengths.assign(count, 0);
  if (count == 0) return;
  const TokenId* last = ids.data() + count - 1;
  const auto at = [&](std::size_t i) { return *(last - i); };  // of the reversed text
  // [start, end) is the match that reaches farthest of those found: it equals [0, end - start).
  std::size_t start = 0, end = 0;
  for (std::size_t d = 1; d < count; ++d) {
    std::size_t length = d < end ? std::min<std::size_t>(end - d, lengths[d - start]) : 0;
    while (length < most && d + length < count && at(length) == at(d + length)) ++length;
    lengths[d] = static_cast<std::uint32_t>(length);
    if (d + length > end) {
      start = d;
      end = d + length;
    }
  }
}

double whole_power(double factor, std::uint64_t exponent) {
  double power = 1;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) power *= factor;
    factor *= factor;
  }
  return std::min(power, 1e30);
}

std::unique_ptr<LogitsProcessor> no_repeat_ngram_processor(std::int64_t length) {
  return std::make_unique<NoRepeatNgram>(length);
}

std::unique_ptr<LogitsProcessor> dry_processor(const GenerationConfig& config) {
  return std::make_unique<Dry>(config);
}

}  // namespace linnet
