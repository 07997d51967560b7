#include "text/chat_encode.h"

#include <algorithm>

#include "text/normalize.h"

namespace linnet {
namespace {

bool overlaps(const std::vector<Span>& spans, std::size_t begin, std::size_t end) {
  const auto next =
      std::lower_bound(spans.begin(), spans.end(), begin,
                       [](const Span& span, std::size_t at) { return span.end <= at; });
  return next != spans.end() && next->begin < end;
}

class PromptEncoder {
 public:
  PromptEncoder(const Tokenizer& tokenizer, std::string_view text, const std::vector<Span>& input)
      : tokenizer_(tokenizer), text_(text), input_(input) {}

  Encoding run() {
    stretch(0, text_.size());
    return std::move(out_);
  }

 private:
  void append(const Encoding& part, std::size_t offset) {
    out_.ids.insert(out_.ids.end(), part.ids.begin(), part.ids.end());
    for (const TokenSpan& span : part.spans) {
      out_.spans.push_back({span.begin + offset, span.end + offset});
    }
  }

  // Encodes a stretch; where added tokens touch the client's bytes, they are cut out and what lies
  // between is looked at again (it is shorter, so this ends).
  void stretch(std::size_t begin, std::size_t end) {
    if (begin == end) return;
    const std::string_view part = text_.substr(begin, end - begin);
    const Encoding encoded = tokenizer_.encode_with_offsets(part);
    std::vector<TokenSpan> forged;
    for (std::size_t i = 0; i < encoded.ids.size(); ++i) {
      const TokenSpan span{encoded.spans[i].begin + begin, encoded.spans[i].end + begin};
      if (tokenizer_.is_added(encoded.ids[i]) && overlaps(input_, span.begin, span.end)) {
        forged.push_back(span);
      }
    }
    if (forged.empty()) return append(encoded, begin);
    std::size_t at = begin;
    for (const TokenSpan& span : forged) {
      stretch(at, span.begin);
      const std::string_view words = text_.substr(span.begin, span.end - span.begin);
      append(tokenizer_.encode_with_offsets(words, {.parsing = SpecialParsing::none}), span.begin);
      at = span.end;
    }
    stretch(at, end);
  }

  const Tokenizer& tokenizer_;
  std::string_view text_;
  const std::vector<Span>& input_;
  Encoding out_;
};

// A tokenizer that normalizes counts its offsets in other bytes than ours.
bool normalizes(const Tokenizer& tokenizer) {
  static constexpr std::string_view kDecomposed = "e\xCC\x81";
  const Encoding encoding = tokenizer.encode_with_offsets(kDecomposed);
  return !encoding.spans.empty() && encoding.spans.back().end < kDecomposed.size();
}

// The prompt with every part of one origin normalized on its own, so that spans stay known.
Prompt normalized(const Prompt& prompt) {
  Prompt out;
  std::size_t at = 0;
  const auto add = [&](std::size_t end) {
    out.text += to_nfc(std::string_view(prompt.text).substr(at, end - at));
    at = end;
  };
  for (const Span& span : prompt.input_spans) {
    add(span.begin);
    const std::size_t begin = out.text.size();
    add(span.end);
    out.input_spans.push_back({begin, out.text.size()});
  }
  add(prompt.text.size());
  return out;
}

}  // namespace

Encoding encode_prompt_with_offsets(const Tokenizer& tokenizer, const Prompt& prompt,
                                    bool trust_user_tokens) {
  if (trust_user_tokens) return tokenizer.encode_with_offsets(prompt.text);
  if (!normalizes(tokenizer))
    return PromptEncoder(tokenizer, prompt.text, prompt.input_spans).run();
  const Prompt plain = normalized(prompt);
  return PromptEncoder(tokenizer, plain.text, plain.input_spans).run();
}

std::vector<TokenId> encode_prompt(const Tokenizer& tokenizer, const Prompt& prompt,
                                   bool trust_user_tokens) {
  if (trust_user_tokens) return tokenizer.encode(prompt.text);
  return encode_prompt_with_offsets(tokenizer, prompt, false).ids;
}

}  // namespace linnet
