// What every tokenizer promises, whatever file it came from.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "fuzz/target.h"
#include "text/stream_decoder.h"
#include "text/tokenizer.h"

namespace linnet::fuzz {

// Ids are in range, spans are in order and inside of `length` bytes, both ways to encode agree.
inline void check_encoding(const Tokenizer& tokenizer, std::string_view text, EncodeOptions options,
                           std::size_t length) {
  const Encoding encoding = tokenizer.encode_with_offsets(text, options);
  expect(encoding.ids == tokenizer.encode(text, options), "encode gives the ids with offsets");
  expect(encoding.spans.size() == encoding.ids.size(), "one span per id");
  std::size_t begin = 0;
  for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
    const TokenSpan span = encoding.spans[i];
    expect(encoding.ids[i] >= 0 && encoding.ids[i] < tokenizer.size(), "ids are in range");
    expect(begin <= span.begin && span.begin <= span.end && span.end <= length,
           "spans are in order and inside of the text");
    begin = span.begin;
  }
}

// Streaming gives what decoding at once does, in valid UTF-8 at every step.
inline void check_decoding(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  for (const bool skip_special : {false, true}) {
    StreamDecoder decoder(tokenizer, skip_special);
    std::string text;
    for (const TokenId id : ids) {
      const std::string piece = decoder.push(id);
      expect(!find_invalid_utf8(piece), "streamed text is valid UTF-8");
      text += piece;
    }
    text += decoder.flush();
    expect(text == tokenizer.decode(ids, skip_special), "streaming decodes as decode does");
  }
  WordwiseDecoder words(tokenizer);
  std::string text;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    text += words.push(ids[i], i + 1 == ids.size()).value_or("");
  }
  expect(text == tokenizer.decode(ids, true), "words decode as decode does");
}

// On a text with a little of everything, and on all that the tokenizer's own tokens stand for.
inline void check_tokenizer(const Tokenizer& tokenizer) {
  std::string text = "Hello  World's 1234\n\n <|im_end|>\u00e9e\u0301 \U0001F600\u65e5 ab abab";
  for (const AddedToken& token : tokenizer.added_tokens()) {
    if (text.size() < 1024) text += token.content + " " + token.content;
  }
  // NFC may lengthen a text threefold.
  const std::size_t longest = 3 * text.size();
  for (const SpecialParsing parsing : {SpecialParsing::all, SpecialParsing::none}) {
    check_encoding(tokenizer, text, {parsing, false}, longest);
  }
  const std::vector<TokenId> ids = tokenizer.encode(text, {.add_special_tokens = true});
  check_decoding(tokenizer, ids);
  std::vector<TokenId> all;
  for (TokenId id = 0; id < std::min<TokenId>(tokenizer.size(), 512); ++id) all.push_back(id);
  check_decoding(tokenizer, all);
}

}  // namespace linnet::fuzz
