// When a generation ends by its content: an id of the stop set, or a stop string in the text.
// Text passes through StopStrings on its way to the reader; what could still become a stop string
// is held back, so no part of one is ever shown, however the text is cut into pieces.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer_data.h"

namespace linnet {

// The ids once each, ascending. Files and requests each name some: the stop set is the union.
std::vector<TokenId> stop_id_union(std::span<const TokenId> a, std::span<const TokenId> b);
bool is_stop_id(std::span<const TokenId> stop_ids, TokenId id);

// The stop string whose end comes first wins; of several that end together, the longest.
// Works through text in constant time per byte and stop string.
class StopStrings {
 public:
  // Errors: invalid_argument for an empty string.
  explicit StopStrings(std::span<const std::string> strings);

  // Takes the next piece; returns what may be shown now. Nothing after a match.
  std::string push(std::string_view piece);
  // The end of the text: returns what was held back (nothing after a match).
  std::string finish();
  bool matched() const { return matched_; }

 private:
  // One string with the state of its matcher (Knuth, Morris and Pratt).
  struct Pattern {
    std::string text;
    std::vector<std::size_t> fallback;  // [text]: length of the longest border of text[0..i]
    std::size_t length = 0;             // of the prefix that the text so far ends with

    void step(char byte);
  };

  std::vector<Pattern> patterns_;
  std::string held_;
  bool matched_ = false;
};

}  // namespace linnet
