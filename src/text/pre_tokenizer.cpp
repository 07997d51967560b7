#include "text/pre_tokenizer.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "base/utf8.h"
#include "text/unicode_classes.h"

namespace linnet {
namespace {

// What a byte says about the character that it begins.
enum class ByteKind : std::uint8_t { other, letter, number, space, newline, wide };

constexpr std::array<ByteKind, 256> kByteKinds = [] {
  std::array<ByteKind, 256> kinds{};
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const std::size_t lower = byte | 0x20;
    ByteKind& kind = kinds[byte];
    if (byte >= 0x80) {
      kind = ByteKind::wide;
    } else if (lower >= 'a' && lower <= 'z') {
      kind = ByteKind::letter;
    } else if (byte >= '0' && byte <= '9') {
      kind = ByteKind::number;
    } else if (byte == '\n' || byte == '\r') {
      kind = ByteKind::newline;
    } else if (byte == ' ' || (byte >= '\t' && byte <= '\r')) {
      kind = ByteKind::space;
    }
  }
  return kinds;
}();

bool is_newline(char byte) { return byte == '\r' || byte == '\n'; }

char lower(char byte) {
  return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a') : byte;
}

// Of eight bytes, the first lowest: how many at the beginning are ASCII letters. The sums set a
// byte's highest bit when it is at least 'a', or beyond 'z'; none of them carries over.
int leading_letters(std::uint64_t bytes) {
  constexpr std::uint64_t kEach = 0x0101010101010101u;
  const std::uint64_t folded = (bytes | kEach * 0x20) & kEach * 0x7F;
  const std::uint64_t from_a = folded + kEach * (0x80 - 'a');
  const std::uint64_t beyond_z = folded + kEach * (0x80 - 'z' - 1);
  const std::uint64_t letters = from_a & ~beyond_z & ~bytes;
  return std::countr_zero(~letters & kEach * 0x80) / 8;
}

std::uint64_t load_little_endian(const char* data) {
  std::uint64_t bytes = 0;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(&bytes, data, sizeof(bytes));
  } else {
    for (int i = 7; i >= 0; --i) bytes = bytes << 8 | static_cast<unsigned char>(data[i]);
  }
  return bytes;
}

// The automata over one text. With kDigitsApart a digit ends the text for all that stands before
// it: the rule of single digits splits there first, and looks at nothing behind.
template <bool kDigitsApart>
class Splitter {
 public:
  explicit Splitter(std::string_view text) : text_(text), classes_(CharClasses::get()) {}

  std::size_t gpt2_end(std::size_t at) const;
  std::size_t llama3_end(std::size_t at, int max_digits) const;

 private:
  struct Point {
    CharClass kind;
    std::size_t end;  // offset behind the character; its own offset at the end of the text
  };
  ByteKind kind_at(std::size_t at) const {
    return kByteKinds[static_cast<unsigned char>(text_[at])];
  }
  Point point_at(std::size_t at) const;
  std::size_t skip(std::size_t at, CharClass kind) const;
  std::size_t skip_letters(std::size_t at) const;
  std::size_t skip_newlines(std::size_t at) const;
  std::size_t contraction_end(std::size_t at, bool ignore_case) const;
  std::size_t space_run_end(std::size_t at, bool newlines_apart) const;
  std::size_t llama3_rare_end(std::size_t at, int max_digits) const;

  std::string_view text_;
  const CharClasses& classes_;
};

template <bool kDigitsApart>
typename Splitter<kDigitsApart>::Point Splitter<kDigitsApart>::point_at(std::size_t at) const {
  if (at >= text_.size()) return {CharClass::other, at};
  switch (kind_at(at)) {
    case ByteKind::letter:
      return {CharClass::letter, at + 1};
    case ByteKind::number:
      return {CharClass::number, kDigitsApart ? at : at + 1};
    case ByteKind::space:
    case ByteKind::newline:
      return {CharClass::space, at + 1};
    case ByteKind::other:
      return {CharClass::other, at + 1};
    case ByteKind::wide:
      break;
  }
  std::size_t end = at;
  const char32_t point = next_valid_point(text_, end);
  if (kDigitsApart && classes_.is_single_digit(point)) return {CharClass::number, at};
  return {classes_.of(point), end};
}

template <bool kDigitsApart>
std::size_t Splitter<kDigitsApart>::skip(std::size_t at, CharClass kind) const {
  for (;;) {
    const Point point = point_at(at);
    if (point.end == at || point.kind != kind) return at;
    at = point.end;
  }
}

template <bool kDigitsApart>
std::size_t Splitter<kDigitsApart>::skip_letters(std::size_t at) const {
  while (at + 8 <= text_.size()) {
    const int letters = leading_letters(load_little_endian(text_.data() + at));
    at += static_cast<std::size_t>(letters);
    if (letters == 8) continue;
    if (kind_at(at) != ByteKind::wide) return at;
    break;
  }
  return skip(at, CharClass::letter);
}

template <bool kDigitsApart>
std::size_t Splitter<kDigitsApart>::skip_newlines(std::size_t at) const {
  while (at < text_.size() && is_newline(text_[at])) ++at;
  return at;
}

// 's|'t|'re|'ve|'m|'ll|'d at the offset: the end of the match, or the offset.
template <bool kDigitsApart>
std::size_t Splitter<kDigitsApart>::contraction_end(std::size_t at, bool ignore_case) const {
  const std::string_view rest = text_.substr(at, 3);
  if (rest.size() < 2 || rest[0] != '\'') return at;
  const char first = ignore_case ? lower(rest[1]) : rest[1];
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
  if (rest.size() < 3) return at;
  // U+017F, the long s, is an s without case.
  if (ignore_case && rest.substr(1) == "\xC5\xBF") return at + 3;
  const char second = ignore_case ? lower(rest[2]) : rest[2];
  const bool pair =
      (second == 'e' && (first == 'r' || first == 'v')) || (second == 'l' && first == 'l');
  return pair ? at + 3 : at;
}

// \s+(?!\S)|\s+ at white space; before it \s*[\r\n]+ when asked for.
template <bool kDigitsApart>
std::size_t Splitter<kDigitsApart>::space_run_end(std::size_t at, bool newlines_apart) const {
  std::size_t end = at;
  std::size_t last = at;           // begin of the last white space
  std::size_t after_newline = at;  // end of the last newline
  for (;;) {
    const Point point = point_at(end);
    if (point.end == end) {  // nothing follows
      last = at;
      break;
    }
    if (point.kind != CharClass::space) break;
    if (is_newline(text_[end])) after_newline = point.end;
    last = end;
    end = point.end;
  }
  if (newlines_apart && after_newline > at) return after_newline;
  // Text follows: the last white space is left to it, unless it is the only one.
  return last > at ? last : end;
}

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
template <bool kDigitsApart>
std::size_t Splitter<kDigitsApart>::gpt2_end(std::size_t at) const {
  std::size_t from = at;
  if (text_[at] == ' ') {
    from = at + 1;
  } else if (text_[at] == '\'') {
    if (const std::size_t end = contraction_end(at, false); end > at) return end;
  }
  const Point point = point_at(from);
  if (point.end > from) {
    if (point.kind == CharClass::letter) return skip_letters(point.end);
    if (point.kind != CharClass::space) return skip(point.end, point.kind);
  }
  return space_run_end(at, false);
}

// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|
// \s*[\r\n]+|\s+(?!\S)|\s+ with 1 to max_digits digits.
template <bool kDigitsApart>
std::size_t Splitter<kDigitsApart>::llama3_end(std::size_t at, int max_digits) const {
  const ByteKind kind = kind_at(at);
  if (kind == ByteKind::letter) return skip_letters(at + 1);
  // Most pieces are a space and ASCII letters.
  if (kind == ByteKind::space && at + 1 < text_.size() && kind_at(at + 1) == ByteKind::letter) {
    return skip_letters(at + 2);
  }
  return llama3_rare_end(at, max_digits);
}

template <bool kDigitsApart>
std::size_t Splitter<kDigitsApart>::llama3_rare_end(std::size_t at, int max_digits) const {
  if (const std::size_t end = contraction_end(at, true); end > at) return end;
  const Point first = point_at(at);
  if (first.kind == CharClass::letter) return skip_letters(first.end);
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
  if (!is_newline(text_[at]) && second.kind == CharClass::letter) return skip_letters(second.end);
  if (first.kind == CharClass::other) return skip_newlines(skip(first.end, CharClass::other));
  if (text_[at] == ' ' && second.kind == CharClass::other && second.end > first.end) {
    return skip_newlines(skip(second.end, CharClass::other));
  }
  return space_run_end(at, true);
}

// One digit, or what stands before the next one by the rule of GPT-2.
std::size_t smollm_end(const Splitter<true>& splitter, std::string_view text, std::size_t at) {
  const std::size_t end = splitter.gpt2_end(at);
  if (end > at) return end;
  std::size_t behind = at;
  next_valid_point(text, behind);
  return behind;
}

// Fills `ends` with the ends of the pieces from `at` on, which moves.
template <typename EndOf>
std::size_t fill_ends(std::span<const char*> ends, std::string_view text, std::size_t& at,
                      EndOf end_of) {
  std::size_t count = 0;
  std::size_t place = at;
  while (count < ends.size() && place < text.size()) {
    place = end_of(place);
    ends[count++] = text.data() + place;
  }
  at = place;
  return count;
}

}  // namespace

std::string_view PieceCursor::next() {
  const std::size_t begin = at_;
  const char* end = nullptr;
  next_ends({&end, 1});
  return text_.substr(begin, at_ - begin);
}

std::size_t PieceCursor::next_ends(std::span<const char*> ends) {
  const Splitter<false> whole(text_);
  switch (rule_) {
    case SplitRule::gpt2:
      return fill_ends(ends, text_, at_, [&](std::size_t at) { return whole.gpt2_end(at); });
    case SplitRule::llama3:
      return fill_ends(ends, text_, at_, [&](std::size_t at) { return whole.llama3_end(at, 3); });
    case SplitRule::qwen2:
      return fill_ends(ends, text_, at_, [&](std::size_t at) { return whole.llama3_end(at, 1); });
    case SplitRule::smollm:
      break;
  }
  const Splitter<true> parts(text_);
  return fill_ends(ends, text_, at_, [&](std::size_t at) { return smollm_end(parts, text_, at); });
}

}  // namespace linnet
