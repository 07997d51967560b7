// Cuts text into the pieces that byte-pair merges stay within. Each split rule is the automaton of
// one known regular expression, written by hand: linear time, no backtracking, nothing to compile.
#pragma once

#include <string_view>

#include "text/tokenizer_data.h"
#include "text/unicode_classes.h"

namespace linnet {

// Walks over the pieces of `text`, which must be valid UTF-8. Joined they are the text.
class PieceCursor {
 public:
  PieceCursor(SplitRule rule, std::string_view text);
  bool done() const { return at_ == text_.size(); }
  // The next piece; at least one byte.
  std::string_view next();

 private:
  struct Point {
    CharClass kind;
    std::size_t end;  // offset behind the character; its own offset at the end of the part
  };
  Point point_at(std::size_t at) const;
  std::size_t skip(std::size_t at, CharClass kind) const;
  std::size_t skip_newlines(std::size_t at) const;
  std::size_t contraction_end(bool ignore_case) const;
  std::size_t space_run_end(bool newlines_apart) const;
  std::size_t gpt2_end() const;
  std::size_t llama3_end(int max_digits) const;
  // The rule of single digits looks at nothing behind the next digit: part_ ends there.
  void begin_part();

  const CharClasses& classes_;
  SplitRule rule_;
  std::string_view text_;
  std::string_view part_;  // from the beginning of the text to the end of the current part
  std::size_t at_ = 0;
};

}  // namespace linnet
