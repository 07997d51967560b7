#include "engine/beam_search.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "engine/logits.h"
#include "engine/stop_rules.h"

namespace linnet {
namespace {

constexpr std::int64_t kMostBeams = 1024;
constexpr std::size_t kChunk = 64;  // scores that are compared at once

[[noreturn]] void refuse(const char* field, auto value, const char* range) {
  fail(ErrorCode::invalid_argument, fmt::format("{} is {}; it must be {}", field, value, range));
}

[[noreturn]] void refuse_score(float score, std::size_t row, std::size_t token) {
  fail(ErrorCode::corrupt_file,
       fmt::format("the score of id {} in row {} of a beam search is {}: the weights, or a logits "
                   "processor, are broken",
                   token, row, score));
}

// Whether one of the scores, with the sum of its beam, is above the floor, or not a number.
bool any_above(std::span<const float> scores, float sum, float floor) {
  unsigned any = 0;
  for (const float score : scores) any |= static_cast<unsigned>(!(sum + score <= floor));
  return any != 0;
}

}  // namespace

void BeamOptions::check() const {
  if (beams < 1 || beams > kMostBeams) refuse("the number of beams", beams, "1 to 1024");
  if (groups < 1 || beams % groups != 0) {
    refuse("the number of beam groups", groups, "a divisor of the number of beams");
  }
  if (!std::isfinite(length_penalty)) refuse("length_penalty", length_penalty, "finite");
  if (!std::isfinite(diversity_penalty) || diversity_penalty < 0) {
    refuse("diversity_penalty", diversity_penalty, "0 or more");
  }
  if (diversity_penalty > 0 && groups == 1) {
    refuse("diversity_penalty", diversity_penalty, "0 unless there are several groups of beams");
  }
  if (max_new_tokens < 1) refuse("max_new_tokens", max_new_tokens, "at least 1 in beam search");
}

BeamSearch::BeamSearch(const BeamOptions& options) : options_(options) {
  options_.check();
  group_beams_ = static_cast<std::size_t>(options_.beams / options_.groups);
  groups_.resize(static_cast<std::size_t>(options_.groups));
  for (Group& group : groups_) group.running.push_back({0, -1});
}

// The lower row goes before, then the lower id.
bool BeamSearch::is_better(const Candidate& a, const Candidate& b) {
  if (a.score != b.score) return a.score > b.score;
  return a.row != b.row ? a.row < b.row : a.token < b.token;
}

std::span<const Beam> BeamSearch::advance(std::span<const float> scores, const Ends& ends) {
  LINNET_CHECK(!is_done(), "the search is at its end");
  const auto count = static_cast<std::size_t>(rows());
  LINNET_CHECK(!scores.empty() && scores.size() % count == 0);
  const std::size_t vocab = scores.size() / count;
  const bool is_first = step_++ == 0;
  next_.clear();
  taken_.clear();
  std::size_t row = 0;  // all groups begin with the row of the prompt
  for (Group& group : groups_) {
    if (group.is_done) continue;
    best_.clear();
    for (const Scored& beam : group.running) {
      select(scores.subspan(row * vocab, vocab), beam, static_cast<std::int32_t>(row));
      if (!is_first) ++row;
    }
    take(group, ends);
    group.is_done = !can_improve(group);
    if (group.is_done) continue;
    for (const Scored& beam : group.running) {
      const Node& node = nodes_[static_cast<std::size_t>(beam.node)];
      next_.push_back({node.row, node.token});
    }
  }
  return next_;
}

// Puts the beam's candidates among the best of its group: a heap with the worst on top.
void BeamSearch::select(std::span<const float> scores, const Scored& beam, std::int32_t row) {
  if (options_.diversity_penalty > 0 && !taken_.empty()) {
    row_.assign(scores.begin(), scores.end());
    for (const TokenId id : taken_)
      row_[static_cast<std::size_t>(id)] -= options_.diversity_penalty;
    scores = row_;
  }
  const std::size_t most = group_beams_ * std::max<std::size_t>(2, options_.stop_ids.size() + 1);
  const auto floor = [&] { return best_.size() < most ? kRemoved : best_.front().score; };
  for (std::size_t start = 0; start < scores.size(); start += kChunk) {
    const std::size_t end = std::min(scores.size(), start + kChunk);
    if (!any_above(scores.subspan(start, end - start), beam.score, floor())) continue;
    for (std::size_t id = start; id < end; ++id) {
      const float score = beam.score + scores[id];
      if (score <= floor()) continue;
      if (!std::isfinite(score)) refuse_score(scores[id], static_cast<std::size_t>(row), id);
      if (best_.size() == most) {
        std::pop_heap(best_.begin(), best_.end(), is_better);
        best_.pop_back();
      }
      best_.push_back({score, row, static_cast<TokenId>(id), beam.node});
      std::push_heap(best_.begin(), best_.end(), is_better);
    }
  }
}

// Of the best candidates, the first that do not end go on, and those that end are finished when
// they are good enough.
void BeamSearch::take(Group& group, const Ends& ends) {
  std::sort_heap(best_.begin(), best_.end(), is_better);
  group.running.clear();
  const bool is_last = step_ == options_.max_new_tokens;
  std::size_t taken = 0;  // other than to stop
  for (std::size_t rank = 0; rank < best_.size(); ++rank) {
    const Candidate& candidate = best_[rank];
    const bool stops = is_stop_id(options_.stop_ids, candidate.token) ||
                       (ends && ends({candidate.row, candidate.token}));
    if (stops ? rank >= group_beams_ : taken == group_beams_) continue;
    if (!stops) {
      taken_.push_back(candidate.token);
      ++taken;
    }
    const auto node = static_cast<std::int32_t>(nodes_.size());
    if (stops || is_last) {
      finish(group, {candidate.score / length_divisor(step_), node});
    } else {
      group.running.push_back({candidate.score, node});
    }
    nodes_.push_back({candidate.before, candidate.row, candidate.token});
  }
}

void BeamSearch::finish(Group& group, const Scored& end) const {
  const auto worse = [](const Scored& a, const Scored& b) { return a.score > b.score; };
  group.finished.insert(std::upper_bound(group.finished.begin(), group.finished.end(), end, worse),
                        end);
  if (group.finished.size() > group_beams_) group.finished.pop_back();
}

bool BeamSearch::can_improve(const Group& group) const {
  if (group.running.empty()) return false;
  if (group.finished.size() < group_beams_) return true;
  if (options_.early_stopping == EarlyStopping::when_full) return false;
  const bool at_longest =
      options_.early_stopping == EarlyStopping::never && options_.length_penalty > 0;
  const float divisor = length_divisor(at_longest ? options_.max_new_tokens : step_);
  return group.running.front().score / divisor > group.finished.back().score;
}

float BeamSearch::length_divisor(std::int64_t length) const {
  return static_cast<float>(
      std::pow(static_cast<double>(length), static_cast<double>(options_.length_penalty)));
}

bool BeamSearch::is_done() const {
  return std::all_of(groups_.begin(), groups_.end(), [](const Group& g) { return g.is_done; });
}

std::vector<BeamResult> BeamSearch::results(std::int64_t count) const {
  std::vector<Scored> best, running;
  for (const Group& group : groups_) {
    best.insert(best.end(), group.finished.begin(), group.finished.end());
    if (group.is_done || step_ == 0) continue;
    for (const Scored& beam : group.running) {
      running.push_back({beam.score / length_divisor(step_), beam.node});
    }
  }
  const auto better = [](const Scored& a, const Scored& b) { return a.score > b.score; };
  std::stable_sort(best.begin(), best.end(), better);
  std::stable_sort(running.begin(), running.end(), better);
  best.insert(best.end(), running.begin(), running.end());
  if (static_cast<std::int64_t>(best.size()) > count) best.resize(static_cast<std::size_t>(count));
  std::vector<BeamResult> results;
  for (const Scored& beam : best) {
    BeamResult& result = results.emplace_back();
    result.score = beam.score;
    for (std::int32_t at = beam.node; at >= 0;) {
      const Node& node = nodes_[static_cast<std::size_t>(at)];
      result.ids.push_back(node.token);
      result.beams.push_back(node.row);
      at = node.before;
    }
    std::reverse(result.ids.begin(), result.ids.end());
    std::reverse(result.beams.begin(), result.beams.end());
  }
  return results;
}

}  // namespace linnet
