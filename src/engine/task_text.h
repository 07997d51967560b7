// Texts as tokens for the task pipelines, and places in a text as a user counts them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/windows.h"
#include "model/model.h"
#include "text/tokenizer.h"

namespace linnet {

struct TaskText {
  std::string text;  // that the spans count in: NFC where the tokenizer normalizes
  std::vector<TokenId> ids;
  std::vector<TokenSpan> spans;  // one per id; empty for ids that stand for no text
  // Ids that the tokenizer's post-processor put before and behind those of the text.
  std::size_t before = 0;
  std::size_t after = 0;

  std::size_t text_tokens() const { return ids.size() - before - after; }
  // Drops tokens at the end of the text until `count` of its own are left.
  void keep(std::size_t count);
  // The text's own tokens of a window over them, between the ids around.
  std::vector<TokenId> window_ids(Window window) const;
};

class TaskEncoder {
 public:
  // With `trust_text`, control tokens in a text count as control tokens; else they are text.
  TaskEncoder(std::shared_ptr<const Model> model, std::shared_ptr<const Tokenizer> tokenizer,
              bool trust_text);

  // What the post-processor puts around a text is put there. Errors: invalid_argument for invalid
  // UTF-8, and for a token that the model's vocabulary does not have.
  TaskText encode(std::string_view text) const;

 private:
  std::shared_ptr<const Model> model_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  EncodeOptions options_;
  bool normalizes_;
};

// What a user's limit of tokens means for a model: 0 is the context, and so is what exceeds it.
// Error{invalid_argument} for less than 0.
std::int64_t checked_max_tokens(const Model& model, std::int64_t max_tokens);
// Tokens of the text itself that fit beside `around` of the tokenizer's own.
// Error{invalid_argument} when there is no room for those.
std::size_t text_room(std::int64_t max_tokens, std::size_t around);

// A part of a text, counted in bytes and in characters (code points).
struct TextRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t begin_character = 0;
  std::size_t end_character = 0;
  bool operator==(const TextRange&) const = default;
};

// Tokens take the space before a word with them; a user's range does not: white space at both ends
// is left out, unless there is nothing else.
TokenSpan without_space(std::string_view text, TokenSpan span);

// Counts characters up to bytes of a text. Cheap when asked in ascending order.
class CharacterCount {
 public:
  explicit CharacterCount(std::string_view text) : text_(text) {}
  std::size_t before(std::size_t byte);
  TextRange range(TokenSpan span) {
    return {span.begin, span.end, before(span.begin), before(span.end)};
  }

 private:
  std::string_view text_;
  std::size_t byte_ = 0;
  std::size_t characters_ = 0;
};

}  // namespace linnet
