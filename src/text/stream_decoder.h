// Text while ids arrive. What is given out is always valid UTF-8, and all of it joined is what
// Tokenizer::decode gives for all ids.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "text/tokenizer.h"

namespace linnet {

// Gives text as soon as it is certain. Bytes that may still become a character wait (three at
// most); as soon as they cannot, each maximal wrong part is one U+FFFD.
class StreamDecoder {
 public:
  // The tokenizer must outlive the decoder.
  StreamDecoder(const Tokenizer& tokenizer, bool skip_special)
      : tokenizer_(tokenizer), skip_special_(skip_special) {}

  // The new text, maybe empty.
  std::string push(TokenId id);
  // The end: bytes of a cut character become one U+FFFD. Begins anew.
  std::string flush();

 private:
  const Tokenizer& tokenizer_;
  bool skip_special_;
  std::string held_;
};

// Gives whole words: text waits for a newline, a CJK ideograph or the next space, so that a reader
// (a screen, a speech engine) never sees half a word. Special tokens are skipped.
class WordwiseDecoder {
 public:
  explicit WordwiseDecoder(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  // `last`: no id follows; everything is given. No value: nothing to give yet. An empty chunk
  // comes only with the last id.
  std::optional<std::string> push(TokenId id, bool last);

 private:
  std::string take(std::size_t count);

  const Tokenizer& tokenizer_;
  std::string pending_;         // bytes, not repaired
  std::size_t last_space_ = 0;  // of pending_; 0 when there is none behind the first byte
};

}  // namespace linnet
