#include "engine/drafts.h"

#include <algorithm>

#include "base/error.h"

namespace linnet {
namespace {

constexpr TokenId kBoundary = -1;
constexpr double kLeastChance = 0.002;  // of a drafted token to be right
constexpr double kDoubt = 2;            // in tokens of the match
constexpr int kSecondChances = 4;       // for answers in use, with each answer that is added
constexpr double kKept = 0.98;          // of a record, with each token of its class
constexpr double kUsualWeight = 3;      // of what is expected without evidence, in tokens
constexpr double kShare = 0.01;         // of a token, that each pass adds to the allowance
constexpr double kMostAllowance = 8;
constexpr std::int64_t kTryAgain = 32;  // passes without a draft
constexpr float kWorthTrying = 0.3f;    // confidence

// What so many drafted rows cost, in tokens of the pass that they join.
double cost(std::int64_t rows, const PassLoad& load, const PassPrice& price) {
  return (price.seconds(load.rows + rows) / price.seconds(load.rows) - 1) * load.tokens;
}

}  // namespace

void Draft::keep(std::int64_t count) {
  ids.resize(std::min(ids.size(), static_cast<std::size_t>(count)));
  confidence.resize(ids.size());
}

EarlierAnswers::EarlierAnswers(std::int64_t capacity) : capacity_(capacity), index_(capacity) {
  LINNET_CHECK(capacity >= 4);
}

void EarlierAnswers::add(std::span<const TokenId> answer) {
  const auto most = static_cast<std::size_t>(capacity_ / 4);
  if (answer.size() > most) answer = answer.last(most);
  const auto room = static_cast<std::int64_t>(answer.size()) + 1;
  int chances = kSecondChances;
  while (!answers_.empty() && index_.end() + room - answers_.front().begin > capacity_) {
    const Answer oldest = answers_.front();
    answers_.pop_front();
    std::vector<TokenId> again;
    for (std::int64_t at = oldest.begin; oldest.is_used && chances > 0 && at + 1 < oldest.end; ++at)
      again.push_back(index_.at(at));
    index_.forget_before(oldest.end);
    if (again.empty()) continue;
    append(again);
    --chances;
  }
  append(answer);
}

void EarlierAnswers::append(std::span<const TokenId> answer) {
  const std::int64_t begin = index_.end();
  for (const TokenId id : answer) index_.append(id);
  index_.append(kBoundary);
  answers_.push_back({begin, index_.end()});
}

void EarlierAnswers::touch(std::int64_t position) {
  const auto after = std::upper_bound(
      answers_.begin(), answers_.end(), position,
      [](std::int64_t value, const Answer& answer) { return value < answer.begin; });
  if (after != answers_.begin()) std::prev(after)->is_used = true;
}

void DraftSource::see(std::span<const TokenId> ids) {
  for (const TokenId id : ids) own_.append(id);
  tail_.insert(tail_.end(), ids.begin(), ids.end());
  if (tail_.size() > 4 * SuffixIndex::kLongest) {
    tail_.erase(tail_.begin(), tail_.end() - static_cast<std::ptrdiff_t>(SuffixIndex::kLongest));
  }
}

// The id that came after the voter's place. The own text goes on with the draft; others end with a
// boundary.
TokenId DraftSource::vote_of(const Voter& voter, const Draft& draft) {
  if (voter.next < voter.index->end()) return voter.index->at(voter.next);
  const auto after = static_cast<std::size_t>(voter.next - voter.index->end());
  return after < draft.ids.size() ? draft.ids[after] : kBoundary;
}

std::vector<DraftSource::Voter> DraftSource::voters() {
  std::vector<Voter> voters;
  const SuffixIndex* both[] = {&own_, earlier_ == nullptr ? nullptr : &earlier_->index()};
  for (const SuffixIndex* index : both) {
    if (index == nullptr) continue;
    index->find(tail_, places_);
    for (const SuffixIndex::Place& place : places_) {
      voters.push_back({index, place.next, place.match, kBoundary});
    }
  }
  return voters;
}

// The id with the most votes, of equals the first (the newest place's); a voter counts as much as
// its match is long.
DraftSource::Verdict DraftSource::count(std::span<const Voter> voters) {
  std::vector<Verdict> ids;
  double all = 1;  // doubt
  for (const Voter& voter : voters) {
    all += static_cast<double>(voter.match);
    if (voter.vote == kBoundary) continue;
    auto found = std::find_if(ids.begin(), ids.end(),
                              [&](const Verdict& verdict) { return verdict.id == voter.vote; });
    if (found == ids.end()) found = ids.insert(found, {voter.vote, 0, 0});
    found->share += static_cast<double>(voter.match);
    found->match = std::max(found->match, voter.match);
  }
  Verdict best{kBoundary, 0, 0};
  for (const Verdict& verdict : ids) {
    if (verdict.share > best.share) best = verdict;
  }
  best.share /= all;
  return best;
}

Draft DraftSource::propose(std::int64_t most) {
  Draft draft;
  std::vector<Voter> voters = this->voters();
  double chance = 1;
  while (static_cast<std::int64_t>(draft.ids.size()) < most) {
    for (Voter& voter : voters) voter.vote = vote_of(voter, draft);
    const Verdict verdict = count(voters);
    if (verdict.id == kBoundary) break;
    const auto length = static_cast<double>(verdict.match) + static_cast<double>(draft.ids.size());
    const double confidence = verdict.share * length / (length + kDoubt);
    chance *= confidence;
    if (chance < kLeastChance) break;
    std::erase_if(voters, [&](const Voter& voter) { return voter.vote != verdict.id; });
    for (Voter& voter : voters) {
      if (draft.ids.empty() && voter.index != &own_) earlier_->touch(voter.next);
      ++voter.next;
    }
    draft.ids.push_back(verdict.id);
    draft.confidence.push_back(static_cast<float>(confidence));
  }
  return draft;
}

std::size_t DraftRecord::class_of(float confidence) {
  const auto index = static_cast<std::size_t>(std::max(0.0f, confidence) * kClasses);
  return std::min(index, kClasses - 1);
}

double DraftRecord::probability(float confidence) const {
  const std::size_t i = class_of(confidence);
  const double usual =
      usual_ == nullptr ? static_cast<double>(confidence) : usual_->probability(confidence);
  return (right_[i] + kUsualWeight * usual) / (all_[i] + kUsualWeight);
}

void DraftRecord::add(float confidence, bool is_right) {
  const std::size_t i = class_of(confidence);
  right_[i] = right_[i] * kKept + (is_right ? 1 : 0);
  all_[i] = all_[i] * kKept + 1;
  if (usual_ != nullptr) usual_->add(confidence, is_right);
}

double DraftLength::expected(const Draft& draft) const {
  double chance = 1, tokens = 0;
  for (const float confidence : draft.confidence) {
    chance *= record_.probability(confidence);
    tokens += chance;
  }
  return tokens;
}

std::int64_t DraftLength::choose(const Draft& draft, const PassLoad& load,
                                 const PassPrice& price) const {
  // A pass of the price without drafts, now and then, or all those with drafts may look cheap.
  if (!price.is_known(load.plain_rows)) return 0;
  double best = load.tokens / price.seconds(load.rows), chance = 1, tokens = load.tokens;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < draft.ids.size(); ++i) {
    const auto rows = static_cast<std::int64_t>(i) + 1;
    if (cost(rows, load, price) > allowance_) break;
    chance *= record_.probability(draft.confidence[i]);
    tokens += chance;
    const double rate = tokens / price.seconds(load.rows + rows);
    const bool is_trial =
        i == 0 && passes_without_ >= kTryAgain && draft.confidence[i] >= kWorthTrying;
    if (rate <= best && !is_trial) continue;
    best = rate;
    count = rows;
  }
  return count;
}

void DraftLength::record(const Draft& verified, std::int64_t accepted, const PassLoad& load,
                         const PassPrice& price) {
  const auto count = static_cast<std::int64_t>(verified.ids.size());
  LINNET_CHECK(accepted >= 0 && accepted <= count);
  for (std::int64_t i = 0; i < std::min(accepted + 1, count); ++i) {
    record_.add(verified.confidence[static_cast<std::size_t>(i)], i < accepted);
  }
  passes_without_ = count == 0 ? passes_without_ + 1 : 0;
  const double won = static_cast<double>(accepted) - cost(count, load, price);
  allowance_ = std::clamp(allowance_ + kShare + won, -1.0, kMostAllowance);
}

}  // namespace linnet
