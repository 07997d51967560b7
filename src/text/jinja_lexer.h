// Cuts a template into tokens, with Jinja's rules for white space: trim_blocks and lstrip_blocks
// are on, one newline at the very end is dropped, "-" and "+" in tags are honoured.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja_value.h"

namespace linnet::jinja {

enum class TokenKind {
  data,            // text outside of tags
  variable_begin,  // {{
  variable_end,
  block_begin,  // {%
  block_end,
  name,
  string,
  integer,
  real,
  symbol,  // an operator or bracket; its spelling is the text
  end,
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::uint32_t at = 0;  // byte offset in the normalized source
  std::string text;
  Value number;

  bool is_symbol(std::string_view spelling) const {
    return kind == TokenKind::symbol && text == spelling;
  }
  bool is_name(std::string_view spelling) const {
    return kind == TokenKind::name && text == spelling;
  }
  // What an error message calls it.
  std::string described() const;
};

// A fault of the lexer or parser, with its place.
struct SyntaxFault {
  std::uint32_t at;
  std::string detail;
};

// "\r\n" and "\r" become "\n"; one newline at the end goes.
std::string normalize_source(std::string_view source);
std::vector<Token> tokenize(std::string_view normalized);

}  // namespace linnet::jinja
