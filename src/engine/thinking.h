// Thoughts between tags: counted apart from the answer, and ended when they have taken as many
// tokens as they may. The closing tag is then put in, and the answer follows.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "text/tokenizer_data.h"

namespace linnet {

struct ThinkingTags {
  std::vector<TokenId> open, close;  // none empty
  bool begins_inside = false;        // the prompt ends within a thought
  std::int64_t budget = -1;          // tokens between the tags; -1: any number
  // What is put in at the end of the budget, the closing tag in it; empty: the tag alone.
  std::vector<TokenId> forced_close;
};

class Thinking {
 public:
  explicit Thinking(const std::optional<ThinkingTags>& tags);

  void see(TokenId id);
  bool is_inside() const { return inside_; }
  // Whether the last id belongs to a thought: the tags do.
  bool was_reasoning() const { return was_reasoning_; }
  std::int64_t tokens() const { return tokens_; }  // in thoughts, without the tags
  // What must follow now: the budget is used up, or the thought is to end early.
  std::span<const TokenId> forced(bool end_now) const;

 private:
  bool ends_with(std::span<const TokenId> tag) const;

  std::optional<ThinkingTags> tags_;
  std::vector<TokenId> recent_;  // as many as a tag may have
  bool inside_ = false;
  bool was_reasoning_ = false;
  std::int64_t tokens_ = 0;
};

}  // namespace linnet
