#include "text/jinja_unicode.h"

#include <utf8proc.h>

#include <algorithm>

namespace linnet::jinja {
namespace {

int category(std::uint32_t code) { return utf8proc_category(static_cast<utf8proc_int32_t>(code)); }

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// Upper case of more than one character (Unicode's SpecialCasing, the unconditional part that
// text meets); everything else maps to one character.
struct Expansion {
  std::uint32_t code;
  const char* upper;
  const char* title;
};
constexpr Expansion kExpansions[] = {
    {0xDF, "SS", "Ss"},   {0x149, "ʼN", "ʼN"},  {0x1F0, "J̌", "J̌"},      {0x390, "Ϊ́", "Ϊ́"},
    {0x3B0, "Ϋ́", "Ϋ́"},    {0x587, "ԵՒ", "Եւ"},  {0x1E96, "H̱", "H̱"},     {0x1E97, "T̈", "T̈"},
    {0x1E98, "W̊", "W̊"},   {0x1E99, "Y̊", "Y̊"},   {0x1E9A, "Aʾ", "Aʾ"},   {0xFB00, "FF", "Ff"},
    {0xFB01, "FI", "Fi"}, {0xFB02, "FL", "Fl"}, {0xFB03, "FFI", "Ffi"}, {0xFB04, "FFL", "Ffl"},
    {0xFB05, "ST", "St"}, {0xFB06, "ST", "St"}, {0xFB13, "ՄՆ", "Մն"},   {0xFB14, "ՄԵ", "Մե"},
    {0xFB15, "ՄԻ", "Մի"}, {0xFB16, "ՎՆ", "Վն"}, {0xFB17, "ՄԽ", "Մխ"},
};

const Expansion* expansion(std::uint32_t code) {
  for (const Expansion& entry : kExpansions) {
    if (entry.code == code) return &entry;
  }
  return nullptr;
}

bool is_cased(std::uint32_t code) {
  const int kind = category(code);
  return kind == UTF8PROC_CATEGORY_LU || kind == UTF8PROC_CATEGORY_LL ||
         kind == UTF8PROC_CATEGORY_LT;
}

// A sigma that ends a word has its own small letter.
bool is_final_sigma(std::string_view text, std::size_t at) {
  if (at == 0) return false;
  std::size_t before = at - 1;
  while (before > 0 && is_continuation(text[before])) --before;
  const std::size_t after = at + character_size(text, at);
  return is_cased(code_point(text, before)) &&
         (after >= text.size() || !is_cased(code_point(text, after)));
}

void append_lower(std::string& out, std::string_view text, std::size_t at) {
  const std::uint32_t code = code_point(text, at);
  if (code == 0x130) {
    out += "i̇";
  } else if (code == 0x3A3) {
    out += is_final_sigma(text, at) ? "ς" : "σ";
  } else {
    append_code_point(out, static_cast<std::uint32_t>(utf8proc_tolower(static_cast<int>(code))));
  }
}

}  // namespace

std::size_t character_size(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  while (end < text.size() && end < at + 4 && is_continuation(text[end])) ++end;
  return end - at;
}

std::size_t character_count(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); at += character_size(text, at)) ++count;
  return count;
}

std::vector<std::size_t> character_offsets(std::string_view text) {
  std::vector<std::size_t> offsets;
  offsets.reserve(text.size() + 1);
  for (std::size_t at = 0; at < text.size(); at += character_size(text, at)) offsets.push_back(at);
  offsets.push_back(text.size());
  return offsets;
}

std::uint32_t code_point(std::string_view text, std::size_t at) {
  const unsigned char first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) return first;
  utf8proc_int32_t code = 0;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data() + at);
  const auto size = static_cast<utf8proc_ssize_t>(text.size() - at);
  return utf8proc_iterate(bytes, size, &code) > 0 ? static_cast<std::uint32_t>(code) : 0xFFFD;
}

void append_code_point(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out.push_back(static_cast<char>(code));
    return;
  }
  if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) code = 0xFFFD;
  utf8proc_uint8_t bytes[4];
  const auto count = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code), bytes);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(count));
}

bool is_space(std::uint32_t code) {
  return (code >= 9 && code <= 13) || (code >= 0x1C && code <= 0x20) || code == 0x85 ||
         code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 ||
         code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

bool is_line_break(std::uint32_t code) {
  return (code >= 10 && code <= 13) || (code >= 0x1C && code <= 0x1E) || code == 0x85 ||
         code == 0x2028 || code == 0x2029;
}

bool is_letter(std::uint32_t code) {
  const int kind = category(code);
  return kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
}

bool is_decimal(std::uint32_t code) { return category(code) == UTF8PROC_CATEGORY_ND; }

bool is_digit(std::uint32_t code) {
  return is_decimal(code) || code == 0xB2 || code == 0xB3 || code == 0xB9 || code == 0x2070 ||
         (code >= 0x2074 && code <= 0x2079) || (code >= 0x2080 && code <= 0x2089) ||
         (code >= 0x2460 && code <= 0x2468);
}

bool is_numeric(std::uint32_t code) {
  const int kind = category(code);
  return kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO;
}

bool is_word(std::uint32_t code) { return is_letter(code) || is_numeric(code) || code == '_'; }

bool is_printable(std::uint32_t code) {
  if (code == ' ') return true;
  const int kind = category(code);
  return kind != UTF8PROC_CATEGORY_CN &&
         !(kind >= UTF8PROC_CATEGORY_ZS && kind <= UTF8PROC_CATEGORY_CO);
}

bool is_cased_upper(std::uint32_t code) { return category(code) == UTF8PROC_CATEGORY_LU; }
bool is_cased_lower(std::uint32_t code) { return category(code) == UTF8PROC_CATEGORY_LL; }

bool is_all_of_case(std::string_view text, bool upper_case) {
  bool found = false;
  for (std::size_t at = 0; at < text.size(); at += character_size(text, at)) {
    const int kind = category(code_point(text, at));
    const bool up = kind == UTF8PROC_CATEGORY_LU;
    const bool low = kind == UTF8PROC_CATEGORY_LL;
    if (kind == UTF8PROC_CATEGORY_LT || (upper_case ? low : up)) return false;
    found = found || (upper_case ? up : low);
  }
  return found;
}

std::string upper(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += character_size(text, at)) {
    const std::uint32_t code = code_point(text, at);
    if (const Expansion* entry = code < 0x80 ? nullptr : expansion(code)) {
      out += entry->upper;
    } else {
      append_code_point(out, static_cast<std::uint32_t>(utf8proc_toupper(static_cast<int>(code))));
    }
  }
  return out;
}

std::string lower(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += character_size(text, at)) {
    append_lower(out, text, at);
  }
  return out;
}

std::string casefold(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += character_size(text, at)) {
    const std::uint32_t code = code_point(text, at);
    utf8proc_int32_t folded[4];
    int boundary = 0;
    const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code), folded, 4,
                                               UTF8PROC_CASEFOLD, &boundary);
    for (utf8proc_ssize_t i = 0; i < std::min<utf8proc_ssize_t>(count, 4); ++i) {
      append_code_point(out, static_cast<std::uint32_t>(folded[i]));
    }
  }
  return out;
}

std::string title_character(std::uint32_t code) {
  if (const Expansion* entry = code < 0x80 ? nullptr : expansion(code)) return entry->title;
  std::string out;
  append_code_point(out, static_cast<std::uint32_t>(utf8proc_totitle(static_cast<int>(code))));
  return out;
}

std::string capitalize(std::string_view text) {
  if (text.empty()) return {};
  std::string out = title_character(code_point(text, 0));
  for (std::size_t at = character_size(text, 0); at < text.size(); at += character_size(text, at)) {
    append_lower(out, text, at);
  }
  return out;
}

std::size_t leading_space(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && is_space(code_point(text, at))) at += character_size(text, at);
  return at;
}

std::size_t trailing_space(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    std::size_t start = end - 1;
    while (start > 0 && is_continuation(text[start]) && end - start < 4) --start;
    if (!is_space(code_point(text, start))) break;
    end = start;
  }
  return end;
}

}  // namespace linnet::jinja
