// Where a text has been before: finds the earlier places that were preceded by the same tokens as
// the present end, the longest match first. A hash chain per length of match (as Lempel-Ziv
// compressors have them): the places whose last 2, 4, 8 or 16 tokens have one hash are linked, the
// newest first. A token costs constant time, and about 60 bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "text/tokenizer_data.h"

namespace linnet {

class SuffixIndex {
 public:
  static constexpr std::size_t kLongest = 64;  // beyond it matches count as equal
  static constexpr std::size_t kMostPlaces = 16;

  struct Place {
    std::int64_t next = 0;   // position of the token after the match
    std::int64_t match = 0;  // tokens, at most kLongest
  };

  // Holds the last `capacity` tokens (rounded up to a power of two).
  explicit SuffixIndex(std::int64_t capacity = std::int64_t{1} << 30) : capacity_(capacity) {}

  // A negative id matches nothing, not even itself: a boundary.
  void append(TokenId id);
  std::int64_t begin() const { return begin_; }  // of the positions held
  std::int64_t end() const { return end_; }
  TokenId at(std::int64_t position) const { return tokens_[slot(position)]; }
  // Forgets everything before the position.
  void forget_before(std::int64_t position);
  std::int64_t bytes() const;

  // At most kMostPlaces places before end() that follow the last tokens of `text`, the newest
  // first; those of the longest kind of match (16, 8, 4 or 2 tokens and more) for which there are
  // any.
  void find(std::span<const TokenId> text, std::vector<Place>& places) const;

 private:
  static constexpr std::array<std::size_t, 4> kLengths = {2, 4, 8, 16};

  struct Chain {
    std::vector<std::uint32_t> newest;  // by hash: the position after the match, 0 for none
    std::vector<std::uint32_t> older;   // by slot: how far before is the next older one
  };

  std::size_t slot(std::int64_t position) const {
    return static_cast<std::size_t>(position) & (tokens_.size() - 1);
  }
  void grow();
  void link(std::int64_t position);
  std::int64_t match(std::span<const TokenId> text, std::int64_t next) const;

  std::int64_t capacity_;
  std::int64_t begin_ = 1, end_ = 1;  // positions start at 1, so that 0 is none
  std::vector<TokenId> tokens_;       // a ring
  std::array<Chain, kLengths.size()> chains_;
};

}  // namespace linnet
