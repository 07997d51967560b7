#include "engine/speculation.h"

#include <algorithm>
#include <new>
#include <utility>

namespace linnet {
namespace {

// More in a row are right too seldom to be worth the look.
constexpr std::int64_t kMostDrafts = 48;
constexpr std::int64_t kMostModelDrafts = 8;  // a model works for each

}  // namespace

void Speculation::begin_pass(std::int64_t sequences) {
  load_.plain_rows = load_.rows = std::max<std::int64_t>(1, sequences);
  load_.tokens = static_cast<double>(load_.rows);
}

Speculation::Guesser::Guesser(Speculation& speculation, bool is_shared)
    : speculation_(speculation),
      is_shared_(is_shared),
      source_(is_shared ? &speculation.earlier_ : nullptr),
      length_(&speculation.usual_) {}

std::vector<TokenId> Speculation::Guesser::next(std::span<const TokenId> ids,
                                                std::int64_t most) try {
  PassLoad& load = speculation_.load_;
  const PassPrice& price = speculation_.price_;
  if (verified_ >= 0) {
    draft_.keep(verified_);
    length_.record(draft_, right_, load_, price);
  }
  source_.see(ids.subspan(seen_));
  seen_ = ids.size();
  draft_ = source_.propose(std::clamp<std::int64_t>(most, 0, kMostDrafts));
  if (draft_.ids.empty() && speculation_.model_ && most > 0) {
    draft_ = speculation_.model_->propose(ids, std::min(most, kMostModelDrafts));
  }
  load_ = load;
  if (!speculation_.always_) draft_.keep(length_.choose(draft_, load_, price));
  load.rows += std::ssize(draft_.ids);
  load.tokens += length_.expected(draft_);
  verified_ = 0, right_ = 0;
  return draft_.ids;
} catch (const std::bad_alloc&) {
  draft_ = {};
  return {};
}

void Speculation::Guesser::keep(std::span<const TokenId> answer) {
  if (!is_shared_) return;
  try {
    speculation_.earlier_.add(answer);
  } catch (const std::bad_alloc&) {
    // One answer less to learn from.
  }
}

}  // namespace linnet
