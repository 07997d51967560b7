#include "engine/suffix_index.h"

#include <algorithm>

namespace linnet {
namespace {

constexpr std::size_t kFirstSlots = 64;
constexpr int kMostSteps = 32;  // along a chain, places of other tokens with the same hash included

// Takes one more token, further back, into a hash.
std::uint64_t mixed(std::uint64_t hash, TokenId id) {
  hash = (hash ^ static_cast<std::uint32_t>(id)) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}

}  // namespace

void SuffixIndex::append(TokenId id) {
  if (static_cast<std::size_t>(end_ - begin_) == tokens_.size()) {
    if (static_cast<std::int64_t>(tokens_.size()) < capacity_) {
      grow();
    } else {
      ++begin_;
    }
  }
  tokens_[slot(end_)] = id;
  ++end_;
  link(end_);
}

void SuffixIndex::forget_before(std::int64_t position) {
  begin_ = std::clamp(position, begin_, end_);
}

std::int64_t SuffixIndex::bytes() const {
  std::size_t words = tokens_.capacity();
  for (const Chain& chain : chains_) words += chain.newest.capacity() + chain.older.capacity();
  return static_cast<std::int64_t>(words * sizeof(std::uint32_t));
}

void SuffixIndex::grow() {
  // All memory first: a failure must leave everything as it was.
  std::vector<TokenId> before(std::max(kFirstSlots, 2 * tokens_.size()));
  std::array<Chain, kLengths.size()> chains;
  for (Chain& chain : chains) {
    chain.newest.assign(2 * before.size(), 0);
    chain.older.assign(before.size(), 0);
  }
  tokens_.swap(before);
  chains_.swap(chains);
  const std::int64_t end = end_;
  for (end_ = begin_; end_ < end; link(end_)) {
    tokens_[slot(end_)] = before[static_cast<std::size_t>(end_) & (before.size() - 1)];
    ++end_;
  }
}

void SuffixIndex::link(std::int64_t position) {
  std::uint64_t hash = 0;
  std::size_t length = 0;
  for (std::size_t kind = 0; kind < kLengths.size(); ++kind) {
    for (; length < kLengths[kind]; ++length) {
      const std::int64_t before = position - 1 - static_cast<std::int64_t>(length);
      if (before < begin_) return;
      hash = mixed(hash, at(before));
    }
    Chain& chain = chains_[kind];
    std::uint32_t& newest = chain.newest[hash & (chain.newest.size() - 1)];
    const auto here = static_cast<std::uint32_t>(position);
    chain.older[slot(position)] = here - newest;
    newest = here;
  }
}

std::int64_t SuffixIndex::match(std::span<const TokenId> text, std::int64_t next) const {
  const auto most = std::min<std::int64_t>(
      static_cast<std::int64_t>(std::min(kLongest, text.size())), next - begin_);
  const TokenId* last = text.data() + text.size() - 1;
  std::int64_t length = 0;
  while (length < most && last[-length] >= 0 && last[-length] == at(next - 1 - length)) ++length;
  return length;
}

void SuffixIndex::find(std::span<const TokenId> text, std::vector<Place>& places) const {
  places.clear();
  if (tokens_.empty()) return;
  std::array<std::uint64_t, kLengths.size()> hashes{};
  std::uint64_t hash = 0;
  std::size_t kinds = 0;
  for (std::size_t length = 0; length < text.size() && kinds < kLengths.size();) {
    hash = mixed(hash, text[text.size() - 1 - length]);
    if (++length == kLengths[kinds]) hashes[kinds++] = hash;
  }
  while (kinds-- > 0 && places.empty()) {
    const Chain& chain = chains_[kinds];
    const auto end = static_cast<std::uint32_t>(end_);
    const std::uint32_t newest = chain.newest[hashes[kinds] & (chain.newest.size() - 1)];
    // Positions are kept by their low 32 bits; what is out of date is seen by its tokens.
    std::int64_t next = end_ - static_cast<std::int64_t>(end - newest);
    for (int step = 0; step < kMostSteps && next > begin_; ++step) {
      const std::int64_t length = next < end_ ? match(text, next) : 0;
      if (length >= static_cast<std::int64_t>(kLengths[kinds])) places.push_back({next, length});
      if (places.size() == kMostPlaces) break;
      next -= chain.older[slot(next)];
    }
  }
}

}  // namespace linnet
