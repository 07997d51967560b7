#include "text/pre_tokenizer.h"

#include "base/utf8.h"

namespace linnet {
namespace {

bool is_newline(char byte) { return byte == '\r' || byte == '\n'; }

char lower(char byte) {
  return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a') : byte;
}

}  // namespace

PieceCursor::PieceCursor(SplitRule rule, std::string_view text)
    : classes_(CharClasses::get()), rule_(rule), text_(text), part_(text) {
  if (rule == SplitRule::smollm) part_ = {};
}

std::string_view PieceCursor::next() {
  const std::size_t begin = at_;
  if (at_ == part_.size()) begin_part();
  switch (rule_) {
    case SplitRule::smollm:
    case SplitRule::gpt2:
      at_ = gpt2_end();
      break;
    case SplitRule::llama3:
      at_ = llama3_end(3);
      break;
    case SplitRule::qwen2:
      at_ = llama3_end(1);
      break;
  }
  return text_.substr(begin, at_ - begin);
}

void PieceCursor::begin_part() {
  std::size_t end = at_;
  while (end < text_.size()) {
    std::size_t behind = end;
    if (classes_.is_single_digit(next_valid_point(text_, behind))) {
      if (end == at_) end = behind;
      break;
    }
    end = behind;
  }
  part_ = text_.substr(0, end);
}

PieceCursor::Point PieceCursor::point_at(std::size_t at) const {
  if (at >= part_.size()) return {CharClass::other, at};
  std::size_t end = at;
  const char32_t point = next_valid_point(part_, end);
  return {classes_.of(point), end};
}

std::size_t PieceCursor::skip(std::size_t at, CharClass kind) const {
  for (;;) {
    const Point point = point_at(at);
    if (point.end == at || point.kind != kind) return at;
    at = point.end;
  }
}

std::size_t PieceCursor::skip_newlines(std::size_t at) const {
  while (at < part_.size() && is_newline(part_[at])) ++at;
  return at;
}

// 's|'t|'re|'ve|'m|'ll|'d at the cursor: the end of the match, or the cursor.
std::size_t PieceCursor::contraction_end(bool ignore_case) const {
  const std::string_view rest = part_.substr(at_, 3);
  if (rest.size() < 2 || rest[0] != '\'') return at_;
  const char first = ignore_case ? lower(rest[1]) : rest[1];
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return at_ + 2;
  if (rest.size() < 3) return at_;
  // U+017F, the long s, is an s without case.
  if (ignore_case && rest.substr(1) == "\xC5\xBF") return at_ + 3;
  const char second = ignore_case ? lower(rest[2]) : rest[2];
  const bool pair =
      (second == 'e' && (first == 'r' || first == 'v')) || (second == 'l' && first == 'l');
  return pair ? at_ + 3 : at_;
}

// \s+(?!\S)|\s+ at the cursor, which is at white space; before it \s*[\r\n]+ when asked for.
std::size_t PieceCursor::space_run_end(bool newlines_apart) const {
  std::size_t end = at_;
  std::size_t last = at_;           // begin of the last white space
  std::size_t after_newline = at_;  // end of the last newline
  for (;;) {
    const Point point = point_at(end);
    if (point.end == end || point.kind != CharClass::space) break;
    if (is_newline(part_[end])) after_newline = point.end;
    last = end;
    end = point.end;
  }
  if (newlines_apart && after_newline > at_) return after_newline;
  // Text follows: the last white space is left to it, unless it is the only one.
  if (end < part_.size() && last > at_) return last;
  return end;
}

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
std::size_t PieceCursor::gpt2_end() const {
  if (const std::size_t end = contraction_end(false); end > at_) return end;
  const std::size_t from = part_[at_] == ' ' ? at_ + 1 : at_;
  const Point point = point_at(from);
  if (point.end > from && point.kind != CharClass::space) return skip(point.end, point.kind);
  return space_run_end(false);
}

// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|
// \s*[\r\n]+|\s+(?!\S)|\s+ with 1 to max_digits digits.
std::size_t PieceCursor::llama3_end(int max_digits) const {
  if (const std::size_t end = contraction_end(true); end > at_) return end;
  const Point first = point_at(at_);
  if (first.kind == CharClass::letter) return skip(first.end, CharClass::letter);
  if (first.kind == CharClass::number) {
    std::size_t end = first.end;
    for (int digits = 1; digits < max_digits; ++digits) {
      const Point digit = point_at(end);
      if (digit.kind != CharClass::number) break;
      end = digit.end;
    }
    return end;
  }
  const Point second = point_at(first.end);
  if (!is_newline(part_[at_]) && second.kind == CharClass::letter) {
    return skip(second.end, CharClass::letter);
  }
  if (first.kind == CharClass::other) return skip_newlines(skip(first.end, CharClass::other));
  if (part_[at_] == ' ' && second.kind == CharClass::other && second.end > first.end) {
    return skip_newlines(skip(second.end, CharClass::other));
  }
  return space_run_end(true);
}

}  // namespace linnet
