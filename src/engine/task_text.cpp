#include "engine/task_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "text/normalize.h"
#include "text/unicode_classes.h"

namespace linnet {
namespace {

// Whether two code points become the one that NFC joins them to. The spans alone do not tell: a
// small vocabulary may lack the accent's bytes.
bool normalizes_text(const Tokenizer& tokenizer) {
  const std::vector<TokenId> joined = tokenizer.encode("\xC3\xA9");
  return !joined.empty() && tokenizer.encode("e\xCC\x81") == joined;
}

bool is_space(char32_t point) { return CharClasses::get().of(point) == CharClass::space; }

// Where the character begins that ends before `end`.
std::size_t last_character(std::string_view text, std::size_t end) {
  do {
    --end;
  } while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80);
  return end;
}

}  // namespace

void TaskText::keep(std::size_t count) {
  if (text_tokens() <= count) return;
  const auto cut = [&](auto& list) {
    const auto first = list.begin() + static_cast<std::ptrdiff_t>(before + count);
    list.erase(first, list.end() - static_cast<std::ptrdiff_t>(after));
  };
  cut(ids);
  cut(spans);
}

std::vector<TokenId> TaskText::window_ids(Window window) const {
  const auto at = [&](std::size_t index) {
    return ids.begin() + static_cast<std::ptrdiff_t>(index);
  };
  std::vector<TokenId> out(ids.begin(), at(before));
  out.insert(out.end(), at(before + window.begin), at(before + window.end));
  out.insert(out.end(), at(ids.size() - after), ids.end());
  return out;
}

TaskEncoder::TaskEncoder(std::shared_ptr<const Model> model,
                         std::shared_ptr<const Tokenizer> tokenizer, bool trust_text)
    : model_(std::move(model)),
      tokenizer_(std::move(tokenizer)),
      normalizes_(normalizes_text(*tokenizer_)) {
  options_.parsing = trust_text ? SpecialParsing::all : SpecialParsing::none;
  options_.add_special_tokens = true;
}

TaskText TaskEncoder::encode(std::string_view text) const {
  Encoding encoding = tokenizer_->encode_with_offsets(text, options_);
  for (const TokenId id : encoding.ids) {
    if (id < model_->program().vocab) continue;
    fail(ErrorCode::invalid_argument,
         fmt::format("the tokenizer gives the id {}, but the model's vocabulary has {}: they do "
                     "not belong together",
                     id, model_->program().vocab));
  }
  TaskText out;
  out.text = normalizes_ ? to_nfc(text) : std::string(text);
  const auto is_added = [&](std::size_t i) {
    return encoding.spans[i].begin == encoding.spans[i].end;
  };
  std::size_t first = 0, end = encoding.ids.size();
  while (first < end && is_added(first)) ++first;
  while (end > first && is_added(end - 1)) --end;
  out.before = first;
  out.after = encoding.ids.size() - end;
  out.ids = std::move(encoding.ids);
  out.spans = std::move(encoding.spans);
  return out;
}

std::int64_t checked_max_tokens(const Model& model, std::int64_t max_tokens) {
  if (max_tokens < 0) {
    fail(ErrorCode::invalid_argument,
         fmt::format("max_tokens: {} given; 0 means the model's context", max_tokens));
  }
  const std::int64_t context = model.context();
  return max_tokens == 0 ? context : std::min(max_tokens, context);
}

std::size_t text_room(std::int64_t max_tokens, std::size_t around) {
  const auto most = static_cast<std::size_t>(max_tokens);
  if (around <= most) return most - around;
  fail(ErrorCode::invalid_argument,
       fmt::format("at most {} tokens leave no room for the {} that the tokenizer puts around a "
                   "text: allow more",
                   most, around));
}

TokenSpan without_space(std::string_view text, TokenSpan span) {
  TokenSpan inner = span;
  while (inner.begin < inner.end) {
    std::size_t next = inner.begin;
    if (!is_space(next_valid_point(text, next))) break;
    inner.begin = next;
  }
  while (inner.end > inner.begin) {
    const std::size_t last = last_character(text, inner.end);
    std::size_t at = last;
    if (!is_space(next_valid_point(text, at))) break;
    inner.end = last;
  }
  return inner.begin < inner.end ? inner : span;
}

std::size_t CharacterCount::before(std::size_t byte) {
  if (byte < byte_) byte_ = characters_ = 0;
  for (; byte_ < byte; ++byte_)
    characters_ += (static_cast<unsigned char>(text_[byte_]) & 0xC0) != 0x80;
  return characters_;
}

}  // namespace linnet
