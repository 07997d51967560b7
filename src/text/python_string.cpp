#include "base/utf8.h"
#include "text/python_literal.h"

namespace linnet {
namespace {

bool is_quote(char c) { return c == '"' || c == '\''; }

// Letters before the quote; no literal has more than two.
std::size_t prefix_size(std::string_view text, std::size_t at) {
  constexpr std::string_view kLetters = "rRuUbBfF";
  std::size_t size = 0;
  while (size < 3 && at + size < text.size() &&
         kLetters.find(text[at + size]) != std::string_view::npos) {
    ++size;
  }
  return size;
}

std::optional<char32_t> digits(std::string_view text, std::size_t& at, std::size_t count) {
  char32_t value = 0;
  if (text.size() - at < count) return std::nullopt;
  for (const std::size_t end = at + count; at < end; ++at) {
    const char c = static_cast<char>(text[at] | 0x20);
    const bool letter = c >= 'a' && c <= 'f';
    if (!letter && (text[at] < '0' || text[at] > '9')) return std::nullopt;
    value = value << 4 | static_cast<char32_t>(letter ? c - 'a' + 10 : text[at] - '0');
  }
  return value;
}

// Models write characters beyond the first plane as JSON does: both halves are one character.
char32_t with_low_half(std::string_view text, std::size_t& at, char32_t high) {
  std::size_t behind = at + 2;
  if (text.substr(at, 2) != "\\u") return kReplacementPoint;
  const auto low = digits(text, behind, 4);
  if (!low || *low < 0xDC00 || *low > 0xDFFF) return kReplacementPoint;
  at = behind;
  return 0x10000 + ((high - 0xD800) << 10) + (*low - 0xDC00);
}

// \x, \u, \U: `at` is behind the letter.
bool hex_escape(std::string_view text, std::size_t& at, char letter, std::string& out) {
  auto point = digits(text, at, letter == 'x' ? 2 : letter == 'u' ? 4 : 8);
  if (!point || *point > 0x10FFFF) return false;
  if (*point >= 0xD800 && *point <= 0xDBFF) point = with_low_half(text, at, *point);
  if (*point >= 0xDC00 && *point <= 0xDFFF) point = kReplacementPoint;
  append_utf8(out, *point);
  return true;
}

void octal_escape(std::string_view text, std::size_t& at, std::string& out) {
  char32_t point = 0;
  for (int i = 0; i < 3 && at < text.size() && text[at] >= '0' && text[at] <= '7'; ++i) {
    point = point * 8 + static_cast<char32_t>(text[at++] - '0');
  }
  append_utf8(out, point);
}

// `at` is at the letter behind the backslash.
bool escape(std::string_view text, std::size_t& at, std::string& out) {
  constexpr std::string_view kLetters = "\\'\"abfnrtv";
  constexpr std::string_view kMeant = "\\'\"\a\b\f\n\r\t\v";
  const char letter = text[at];
  if (letter >= '0' && letter <= '7') {
    octal_escape(text, at, out);
    return true;
  }
  ++at;
  if (letter == 'x' || letter == 'u' || letter == 'U') return hex_escape(text, at, letter, out);
  if (letter == 'N') return false;  // names of characters are not known here
  if (letter == '\n') return true;
  const std::size_t known = kLetters.find(letter);
  if (known != std::string_view::npos) {
    out += kMeant[known];
  } else {
    out += '\\';
    out += letter;
  }
  return true;
}

std::optional<std::string> unescape(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '\\') {
      out += text[at++];
      continue;
    }
    if (!escape(text, ++at, out)) return std::nullopt;
  }
  return out;
}

// The offset of the closing quotes; the text's size when there are none.
std::size_t find_close(std::string_view text, std::size_t at, std::string_view quotes) {
  for (; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '\n' && quotes.size() == 1) {
      break;
    } else if (text.substr(at, quotes.size()) == quotes) {
      return at;
    }
  }
  return text.size();
}

}  // namespace

bool begins_python_string(std::string_view text, std::size_t at) {
  const std::size_t quote = at + prefix_size(text, at);
  return quote < text.size() && is_quote(text[quote]);
}

std::optional<std::string> read_python_string(std::string_view text, std::size_t& at) {
  const std::string_view prefix = text.substr(at, prefix_size(text, at));
  const bool raw = prefix == "r" || prefix == "R";
  if (!prefix.empty() && !raw && prefix != "u" && prefix != "U") return std::nullopt;
  at += prefix.size();
  const char quote = text[at];
  const bool triple = text.substr(at, 3) == std::string(3, quote);
  const std::string_view quotes = text.substr(at, triple ? 3 : 1);
  const std::size_t begin = at + quotes.size();
  const std::size_t end = find_close(text, begin, quotes);
  if (end == text.size()) return std::nullopt;
  at = end + quotes.size();
  const std::string_view content = text.substr(begin, end - begin);
  return raw ? std::string(content) : unescape(content);
}

}  // namespace linnet
