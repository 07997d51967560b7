// Cuts text into the pieces that byte-pair merges stay within. Each split rule is the automaton of
// one known regular expression, written by hand: linear time, no backtracking, nothing to compile.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "text/tokenizer_data.h"

namespace linnet {

// Walks over the pieces of `text`, which must be valid UTF-8. Joined they are the text.
class PieceCursor {
 public:
  PieceCursor(SplitRule rule, std::string_view text) : rule_(rule), text_(text) {}
  bool done() const { return at_ == text_.size(); }
  // The next piece; at least one byte.
  std::string_view next();
  // The ends of the next pieces, as many as there are and have room; returns their number.
  std::size_t next_ends(std::span<const char*> ends);

 private:
  SplitRule rule_;
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace linnet
