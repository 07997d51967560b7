#include "text/jinja_lexer.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "text/jinja_string_literal.h"
#include "text/jinja_unicode.h"

namespace linnet::jinja {
namespace {

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

bool is_name_byte(char c) {
  return is_ascii_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) root();
    push(TokenKind::end, "");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail(std::size_t at, std::string detail) const {
    throw SyntaxFault{static_cast<std::uint32_t>(at), std::move(detail)};
  }

  bool looking_at(std::string_view text, std::size_t at) const {
    return source_.substr(std::min(at, source_.size())).starts_with(text);
  }

  void push(TokenKind kind, std::string text) {
    tokens_.push_back({kind, static_cast<std::uint32_t>(at_), std::move(text), Value()});
  }

  std::size_t skip_space(std::size_t at) const { return at + leading_space(source_.substr(at)); }

  // The next "{{", "{%" or "{#" at or after `from`.
  std::size_t find_tag(std::size_t from) const {
    for (std::size_t at = source_.find('{', from); at != std::string_view::npos;
         at = source_.find('{', at + 1)) {
      if (at + 1 < source_.size() &&
          std::string_view("{%#").find(source_[at + 1]) != std::string_view::npos) {
        return at;
      }
    }
    return std::string_view::npos;
  }

  char sign_at(std::size_t at) const {
    return at < source_.size() && (source_[at] == '-' || source_[at] == '+') ? source_[at] : 0;
  }

  // Text before a tag, with the white space gone that the tag takes away.
  void push_data(std::size_t begin, std::size_t end, char sign, bool variable) {
    std::string_view data = source_.substr(begin, end - begin);
    if (sign == '-') {
      data = data.substr(0, trailing_space(data));
    } else if (sign != '+' && !variable) {
      const std::size_t line = data.rfind('\n') + 1;  // npos + 1 is 0
      if ((line > 0 || line_starting_) && leading_space(data.substr(line)) == data.size() - line) {
        data = data.substr(0, line);
      }
    }
    if (!data.empty()) push(TokenKind::data, std::string(data));
  }

  // Where the text goes on behind a tag's end mark of two bytes at `at`.
  void leave_tag(std::size_t at, char sign, bool trims_newline) {
    std::size_t next = at + 2;
    if (sign == '-') {
      next = skip_space(next);
    } else if (sign == 0 && trims_newline && looking_at("\n", next)) {
      ++next;
    }
    line_starting_ = next > 0 && source_[next - 1] == '\n';
    at_ = next;
  }

  void root() {
    const std::size_t tag = find_tag(at_);
    if (tag == std::string_view::npos) {
      push(TokenKind::data, std::string(source_.substr(at_)));
      at_ = source_.size();
      return;
    }
    const char kind = source_[tag + 1];
    const char sign = sign_at(tag + 2);
    push_data(at_, tag, sign, kind == '{');
    at_ = tag;
    const std::size_t inside = tag + 2 + (sign != 0 ? 1 : 0);
    if (kind == '#') return comment(inside);
    if (kind == '%' && raw(inside)) return;
    push(kind == '{' ? TokenKind::variable_begin : TokenKind::block_begin, "");
    at_ = inside;
    expression(kind == '{');
  }

  void comment(std::size_t inside) {
    const std::size_t end = source_.find("#}", inside);
    if (end == std::string_view::npos) fail(at_, "Missing end of comment tag");
    const char sign = end > inside ? sign_at(end - 1) : 0;
    leave_tag(end, sign, true);
  }

  // {% raw %} ... {% endraw %}; false when the tag is another one.
  bool raw(std::size_t inside) {
    const std::size_t word = skip_space(inside);
    if (!looking_at("raw", word)) return false;
    const std::size_t close = skip_space(word + 3);
    const bool dash = looking_at("-%}", close);
    if (!dash && !looking_at("%}", close)) return false;
    leave_tag(dash ? close + 1 : close, dash ? '-' : 0, false);
    for (std::size_t tag = source_.find("{%", at_); tag != std::string_view::npos;
         tag = source_.find("{%", tag + 1)) {
      if (end_raw(tag)) return true;
    }
    fail(inside, "Missing end of raw directive");
  }

  bool end_raw(std::size_t tag) {
    const char sign = sign_at(tag + 2);
    const std::size_t word = skip_space(tag + 2 + (sign != 0 ? 1 : 0));
    if (!looking_at("endraw", word)) return false;
    std::size_t close = skip_space(word + 6);
    const char end_sign = sign_at(close);
    if (end_sign != 0) ++close;
    if (!looking_at("%}", close)) return false;
    push_data(at_, tag, sign, false);
    leave_tag(close, end_sign, true);
    return true;
  }

  // Everything up to the end mark, which only counts outside of brackets.
  void expression(bool variable) {
    const std::string_view mark = variable ? "}}" : "%}";
    brackets_.clear();
    while (true) {
      if (at_ >= source_.size()) return;  // the parser reports what is missing
      if (brackets_.empty() && end_of_tag(mark, variable)) return;
      if (is_space(code_point(source_, at_))) {
        at_ += character_size(source_, at_);
        continue;
      }
      if (!number() && !name() && !string()) symbol();
    }
  }

  bool end_of_tag(std::string_view mark, bool variable) {
    char sign = 0;
    if (looking_at(mark, at_ + 1) && (source_[at_] == '-' || (source_[at_] == '+' && !variable))) {
      sign = source_[at_];
    } else if (!looking_at(mark, at_)) {
      return false;
    }
    push(variable ? TokenKind::variable_end : TokenKind::block_end, "");
    leave_tag(at_ + (sign != 0 ? 1 : 0), sign, !variable);
    return true;
  }

  // Digits, with single underscores between them.
  std::size_t digits(std::size_t at, std::string_view allowed) const {
    const auto is_digit_at = [&](std::size_t i) {
      return i < source_.size() && allowed.find(source_[i]) != std::string_view::npos;
    };
    if (!is_digit_at(at)) return at;
    while (is_digit_at(at) || (at < source_.size() && source_[at] == '_' && is_digit_at(at + 1)))
      ++at;
    return at;
  }

  bool number() {
    static constexpr std::string_view kDigits = "0123456789";
    if (!is_ascii_digit(source_[at_])) return false;
    const std::size_t whole = digits(at_, kDigits);
    std::size_t end = whole;
    const bool after_dot = at_ > 0 && source_[at_ - 1] == '.';
    if (!after_dot) {
      if (looking_at(".", end) && digits(end + 1, kDigits) > end + 1)
        end = digits(end + 1, kDigits);
      std::size_t exponent = end;
      if (exponent < source_.size() && (source_[exponent] == 'e' || source_[exponent] == 'E')) {
        ++exponent;
        if (sign_at(exponent) != 0) ++exponent;
        if (digits(exponent, kDigits) > exponent) end = digits(exponent, kDigits);
      }
    }
    if (end > whole) {
      push_number(TokenKind::real, end);
    } else if (!prefixed_integer()) {
      // A leading zero stands alone, or before more zeros.
      push_number(TokenKind::integer, source_[at_] == '0' ? digits(at_, "0") : whole);
    }
    return true;
  }

  bool prefixed_integer() {
    static constexpr std::array<std::string_view, 3> kPrefixes = {"xX", "oO", "bB"};
    static constexpr std::array<std::string_view, 3> kSets = {"0123456789abcdefABCDEF", "01234567",
                                                              "01"};
    static constexpr std::array<int, 3> kBases = {16, 8, 2};
    if (source_[at_] != '0' || at_ + 1 >= source_.size()) return false;
    for (std::size_t i = 0; i < kPrefixes.size(); ++i) {
      if (kPrefixes[i].find(source_[at_ + 1]) == std::string_view::npos) continue;
      const std::size_t start = at_ + 2 + (looking_at("_", at_ + 2) ? 1 : 0);
      const std::size_t end = digits(start, kSets[i]);
      if (end == start) return false;
      push_integer(source_.substr(start, end - start), kBases[i]);
      at_ = end;
      return true;
    }
    return false;
  }

  void push_integer(std::string_view spelled, int base) {
    std::string plain(spelled);
    std::erase(plain, '_');
    if (plain.size() > Integer::kMaxDigits) fail(at_, "a whole number has too many digits");
    push(TokenKind::integer, plain);
    tokens_.back().number = Value(Integer::parse(plain, base).value_or(Integer()));
  }

  void push_number(TokenKind kind, std::size_t end) {
    const std::string_view spelled = source_.substr(at_, end - at_);
    if (kind == TokenKind::integer) {
      push_integer(spelled, 10);
    } else {
      std::string plain(spelled);
      std::erase(plain, '_');
      push(kind, plain);
      tokens_.back().number = Value(std::strtod(plain.c_str(), nullptr));
    }
    at_ = end;
  }

  bool name() {
    std::size_t end = at_;
    while (end < source_.size()) {
      const char byte = source_[end];
      if (!is_name_byte(byte) &&
          (static_cast<unsigned char>(byte) < 0x80 || !is_word(code_point(source_, end)))) {
        break;
      }
      end += character_size(source_, end);
    }
    if (end == at_) return false;
    push(TokenKind::name, std::string(source_.substr(at_, end - at_)));
    at_ = end;
    return true;
  }

  bool string() {
    const char quote = source_[at_];
    if (quote != '"' && quote != '\'') return false;
    std::size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) fail(at_, fmt::format("unexpected char '{}'", quote));
    try {
      push(TokenKind::string, unescape(source_.substr(at_ + 1, end - at_ - 1)));
    } catch (const Fault& bad) {
      fail(at_, bad.detail);
    }
    at_ = end + 1;
    return true;
  }

  void symbol() {
    static constexpr std::string_view kSymbols[] = {
        "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
        "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};
    for (const std::string_view spelling : kSymbols) {
      if (!looking_at(spelling, at_)) continue;
      balance(spelling[0]);
      push(TokenKind::symbol, std::string(spelling));
      at_ += spelling.size();
      return;
    }
    fail(at_,
         fmt::format("unexpected char '{}'", source_.substr(at_, character_size(source_, at_))));
  }

  void balance(char symbol) {
    if (symbol == '(') brackets_.push_back(')');
    if (symbol == '[') brackets_.push_back(']');
    if (symbol == '{') brackets_.push_back('}');
    if (symbol != ')' && symbol != ']' && symbol != '}') return;
    if (brackets_.empty()) fail(at_, fmt::format("unexpected '{}'", symbol));
    if (brackets_.back() != symbol) {
      fail(at_, fmt::format("unexpected '{}', expected '{}'", symbol, brackets_.back()));
    }
    brackets_.pop_back();
  }

  std::string_view source_;
  std::size_t at_ = 0;
  bool line_starting_ = true;
  std::string brackets_;  // the closing ones that are awaited
  std::vector<Token> tokens_;
};

}  // namespace

std::string Token::described() const {
  switch (kind) {
    case TokenKind::data:
      return "template data";
    case TokenKind::variable_begin:
      return "begin of print statement";
    case TokenKind::variable_end:
      return "end of print statement";
    case TokenKind::block_begin:
      return "begin of statement block";
    case TokenKind::block_end:
      return "end of statement block";
    case TokenKind::end:
      return "end of template";
    default:
      return text;
  }
}

std::string normalize_source(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out.push_back('\n');
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      out.push_back(source[i]);
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

std::vector<Token> tokenize(std::string_view normalized) { return Lexer(normalized).run(); }

}  // namespace linnet::jinja
