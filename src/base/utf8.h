// UTF-8: decoding one code point, validation and repair.
// Repair replaces each maximal wrong part by one U+FFFD (Unicode's recommended practice, the same
// as Python's errors="replace"): a cut character is one part, a byte that can begin nothing is one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace linnet {

inline constexpr char32_t kReplacementPoint = 0xFFFD;
inline constexpr std::string_view kReplacementText = "\xEF\xBF\xBD";

struct Utf8Step {
  enum class Kind {
    valid,
    wrong,       // `length` bytes are a maximal wrong part
    incomplete,  // all bytes that are left may still become a character
  };
  Kind kind = Kind::valid;
  char32_t point = kReplacementPoint;
  std::size_t length = 1;
};

// The first step of `text`, which must not be empty. No surrogates, no overlong forms.
Utf8Step decode_utf8(std::string_view text);
// Offset of the first byte that is not part of valid UTF-8.
std::optional<std::size_t> find_invalid_utf8(std::string_view text);
std::string repair_utf8(std::string_view text);
void append_utf8(std::string& out, char32_t point);

// The code point at `at` of text that is known to be valid; moves `at` behind it.
inline char32_t next_valid_point(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const char32_t lead = byte(0);
  char32_t point = lead;
  std::size_t length = 1;
  if (lead >= 0xF0) {
    point =
        (lead & 0x07) << 18 | (byte(1) & 0x3Fu) << 12 | (byte(2) & 0x3Fu) << 6 | (byte(3) & 0x3Fu);
    length = 4;
  } else if (lead >= 0xE0) {
    point = (lead & 0x0F) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu);
    length = 3;
  } else if (lead >= 0xC0) {
    point = (lead & 0x1F) << 6 | (byte(1) & 0x3Fu);
    length = 2;
  }
  at += length;
  return point;
}

}  // namespace linnet
