// Cuts streamed text of a model into reasoning (between <think> and </think>) and answer. Works at
// any cut of the stream: the beginning of a tag is held back until it is decided. The tags and the
// newlines around the reasoning belong to neither part.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace linnet {

enum class AnswerPart { reasoning, answer };

class ThinkSplitter {
 public:
  using Sink = std::function<void(AnswerPart, std::string_view)>;

  struct Start {
    bool in_reasoning = false;  // the prompt ends inside of an open tag
    // The tokenizer has tokens for the tags: only a tag that came as such a token counts, and the
    // same letters from other tokens are text.
    bool tags_are_tokens = false;
  };
  ThinkSplitter(Sink sink, Start start);

  // One of the tokens came; its text is fed now or later.
  void expect_tag() { ++expected_; }
  // One of the tokens came, and its text is never fed.
  void pass_tag();
  void feed(std::string_view text);
  // The stream is over: what was held back is text.
  void finish();

 private:
  void emit(std::string_view text);
  void change_part();
  std::string_view tag() const;

  Sink sink_;
  bool in_reasoning_;
  bool tags_are_tokens_;
  int expected_ = 0;
  bool at_start_ = true;  // of a part: its leading newlines are dropped
  std::string held_;      // may be the beginning of the tag
  std::string space_;     // newlines that are dropped if the reasoning ends here
};

}  // namespace linnet
