#include "text/jinja_string_literal.h"

#include <fmt/core.h>

#include <charconv>

#include "text/jinja_fault.h"
#include "text/jinja_unicode.h"

namespace linnet::jinja {
namespace {

// Names for \N{...}: the few that a template might spell.
struct NamedCharacter {
  std::string_view name;
  std::uint32_t code;
};
constexpr NamedCharacter kNamed[] = {
    {"BULLET", 0x2022},
    {"EN DASH", 0x2013},
    {"EM DASH", 0x2014},
    {"NO-BREAK SPACE", 0xA0},
    {"HORIZONTAL ELLIPSIS", 0x2026},
    {"SPACE", 0x20},
    {"LATIN SMALL LETTER E WITH ACUTE", 0xE9},
    {"MIDDLE DOT", 0xB7},
    {"LEFT DOUBLE QUOTATION MARK", 0x201C},
    {"RIGHT DOUBLE QUOTATION MARK", 0x201D},
    {"LEFT SINGLE QUOTATION MARK", 0x2018},
    {"RIGHT SINGLE QUOTATION MARK", 0x2019},
    {"LOWER ONE EIGHTH BLOCK", 0x2581},
    {"FULLWIDTH VERTICAL LINE", 0xFF5C},
};

class Unescaper {
 public:
  explicit Unescaper(std::string_view literal) : literal_(literal) {}

  std::string run() {
    while (at_ < literal_.size()) {
      if (literal_[at_] == '\\' && at_ + 1 < literal_.size()) {
        ++at_;
        escape(literal_[at_++]);
      } else {
        out_.push_back(literal_[at_++]);
      }
    }
    return std::move(out_);
  }

 private:
  void escape(char c) {
    static constexpr std::string_view kFrom = "\\'\"abfnrtv";
    static constexpr std::string_view kTo = "\\'\"\a\b\f\n\r\t\v";
    if (const std::size_t simple = kFrom.find(c); simple != std::string_view::npos) {
      out_.push_back(kTo[simple]);
    } else if (c >= '0' && c <= '7') {
      octal(c);
    } else if (c == 'x' || c == 'u' || c == 'U') {
      hexadecimal(c == 'x' ? 2 : c == 'u' ? 4 : 8);
    } else if (c == 'N') {
      named();
    } else if (c != '\n') {  // a newline behind a backslash joins two lines
      out_.push_back('\\');
      out_.push_back(c);
    }
  }

  void octal(char first) {
    std::uint32_t code = static_cast<std::uint32_t>(first - '0');
    for (int i = 0; i < 2 && at_ < literal_.size() && literal_[at_] >= '0' && literal_[at_] <= '7';
         ++i) {
      code = code * 8 + static_cast<std::uint32_t>(literal_[at_++] - '0');
    }
    append_code_point(out_, code);
  }

  std::uint32_t read_hexadecimal(std::size_t digits) {
    const std::string_view spelled = literal_.substr(at_, digits);
    std::uint32_t code = 0;
    const auto end = std::from_chars(spelled.data(), spelled.data() + spelled.size(), code, 16);
    if (spelled.size() != digits || end.ptr != spelled.data() + digits) {
      fault(JinjaErrorKind::syntax, "truncated \\x, \\u or \\U escape");
    }
    if (code > 0x10FFFF) fault(JinjaErrorKind::syntax, "illegal Unicode character");
    at_ += digits;
    return code;
  }

  void hexadecimal(std::size_t digits) {
    std::uint32_t code = read_hexadecimal(digits);
    // Two halves of a pair stay two characters in Python; here they become the one they mean.
    if (code >= 0xD800 && code < 0xDC00 && literal_.substr(at_).starts_with("\\u")) {
      at_ += 2;
      const std::uint32_t low = read_hexadecimal(4);
      if (low >= 0xDC00 && low < 0xE000) {
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      } else {
        append_code_point(out_, code);
        code = low;
      }
    }
    append_code_point(out_, code);
  }

  void named() {
    const std::size_t close = literal_.find('}', at_);
    if (at_ >= literal_.size() || literal_[at_] != '{' || close == std::string_view::npos) {
      fault(JinjaErrorKind::syntax, "malformed \\N character escape");
    }
    const std::string_view name = literal_.substr(at_ + 1, close - at_ - 1);
    for (const NamedCharacter& entry : kNamed) {
      if (entry.name != name) continue;
      append_code_point(out_, entry.code);
      at_ = close + 1;
      return;
    }
    fault(JinjaErrorKind::syntax, fmt::format("unknown Unicode character name '{}'", name));
  }

  std::string_view literal_;
  std::size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string unescape(std::string_view literal) { return Unescaper(literal).run(); }

}  // namespace linnet::jinja
