#include "engine/stop_rules.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace linnet {
namespace {

std::vector<std::size_t> border_lengths(std::string_view text) {
  std::vector<std::size_t> borders(text.size(), 0);
  std::size_t length = 0;
  for (std::size_t i = 1; i < text.size(); ++i) {
    while (length > 0 && text[i] != text[length]) length = borders[length - 1];
    if (text[i] == text[length]) ++length;
    borders[i] = length;
  }
  return borders;
}

}  // namespace

std::vector<TokenId> stop_id_union(std::span<const TokenId> a, std::span<const TokenId> b) {
  std::vector<TokenId> all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

bool is_stop_id(std::span<const TokenId> stop_ids, TokenId id) {
  return std::find(stop_ids.begin(), stop_ids.end(), id) != stop_ids.end();
}

StopStrings::StopStrings(std::span<const std::string> strings) {
  for (const std::string& text : strings) {
    if (text.empty()) fail(ErrorCode::invalid_argument, "a stop string is empty");
    patterns_.push_back({text, border_lengths(text), 0});
  }
}

void StopStrings::Pattern::step(char byte) {
  while (length > 0 && byte != text[length]) length = fallback[length - 1];
  if (byte == text[length]) ++length;
}

std::string StopStrings::push(std::string_view piece) {
  if (matched_) return {};
  if (patterns_.empty()) return std::string(piece);
  // `held_` ends with the longest prefix of any pattern; what came before it is free.
  for (const char byte : piece) {
    held_ += byte;
    std::size_t complete = 0;
    for (Pattern& pattern : patterns_) {
      pattern.step(byte);
      if (pattern.length == pattern.text.size()) complete = std::max(complete, pattern.length);
    }
    if (complete > 0) {
      matched_ = true;
      held_.resize(held_.size() - complete);
      return std::exchange(held_, {});
    }
  }
  std::size_t keep = 0;
  for (const Pattern& pattern : patterns_) keep = std::max(keep, pattern.length);
  std::string free = held_.substr(0, held_.size() - keep);
  held_.erase(0, free.size());
  return free;
}

std::string StopStrings::finish() { return matched_ ? std::string() : std::exchange(held_, {}); }

}  // namespace linnet
