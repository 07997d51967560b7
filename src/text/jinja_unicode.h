// Characters (code points) of UTF-8 text as Python's str sees them: counting, classes, case.
// The text is valid UTF-8; a stray byte counts as one character and never leads out of the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace linnet::jinja {

std::size_t character_size(std::string_view text, std::size_t at);
std::size_t character_count(std::string_view text);
// Byte offset of each character, and the size at the end.
std::vector<std::size_t> character_offsets(std::string_view text);
std::uint32_t code_point(std::string_view text, std::size_t at);
// A surrogate or a number above U+10FFFF becomes U+FFFD.
void append_code_point(std::string& out, std::uint32_t code);

bool is_space(std::uint32_t code);       // str.isspace
bool is_line_break(std::uint32_t code);  // str.splitlines
bool is_letter(std::uint32_t code);      // str.isalpha
bool is_decimal(std::uint32_t code);
bool is_digit(std::uint32_t code);
bool is_numeric(std::uint32_t code);
bool is_word(std::uint32_t code);  // \w of a regular expression
bool is_printable(std::uint32_t code);
bool is_cased_upper(std::uint32_t code);
bool is_cased_lower(std::uint32_t code);

// str.isupper and str.islower: at least one cased letter, and none of the other case.
bool is_all_of_case(std::string_view text, bool upper_case);

std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string casefold(std::string_view text);
std::string title_character(std::uint32_t code);
std::string capitalize(std::string_view text);

// Bytes of white space at the start, and where the white space at the end begins.
std::size_t leading_space(std::string_view text);
std::size_t trailing_space(std::string_view text);

}  // namespace linnet::jinja
