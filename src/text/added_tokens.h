// Finds added tokens in text: leftmost first, the longest where several begin, then the flags
// (single_word, lstrip, rstrip) in the reference's order. What is between them is ordinary text.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer_data.h"

namespace linnet {

enum class SpecialParsing {
  all,          // every added token is recognised
  not_special,  // only added tokens that are not marked special
  none,         // added tokens in the text are ordinary text
};

// A stretch of the text: an added token, or (id < 0) ordinary text.
struct TextPart {
  std::size_t begin;
  std::size_t end;
  TokenId id;
};

class AddedTokens {
 public:
  explicit AddedTokens(std::vector<AddedToken> tokens);
  std::vector<TextPart> split(std::string_view text, SpecialParsing parsing) const;
  // By content; nullptr when there is none.
  const AddedToken* find(std::string_view content) const;
  const std::vector<AddedToken>& tokens() const { return tokens_; }

 private:
  // Tokens that are looked for together, sorted by content.
  struct Set {
    std::vector<const AddedToken*> sorted;
    std::string first_bytes;  // that they begin with, each once
    std::array<bool, 256> begins{};
    std::vector<bool> pairs = std::vector<bool>(1 << 16);  // their first two bytes, if so many

    void add(const AddedToken& token);
    // The next place where one may begin, else the end of the text.
    std::size_t next_place(std::string_view text, std::size_t at) const;
    bool may_begin(std::string_view text, std::size_t at) const;
    const AddedToken* longest_at(std::string_view text) const;
  };
  void split_part(std::string_view text, TextPart part, const Set& set, SpecialParsing parsing,
                  std::vector<TextPart>& out) const;

  std::vector<AddedToken> tokens_;
  Set plain_;
  Set normalized_;  // looked for in what plain_ leaves
};

}  // namespace linnet
