#include "text/byte_alphabet.h"

#include <array>
#include <cstdint>

#include "base/utf8.h"

namespace linnet {
namespace {

// Characters of the alphabet lie below this code point.
constexpr std::size_t kAlphabetEnd = 0x144;

struct Alphabet {
  std::array<char32_t, 256> point_of{};
  std::array<std::int16_t, kAlphabetEnd> byte_of{};
};

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  for (auto& byte : alphabet.byte_of) byte = -1;
  char32_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char32_t point = stands_for_itself(byte) ? byte : next++;
    alphabet.point_of[byte] = point;
    alphabet.byte_of[point] = static_cast<std::int16_t>(byte);
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

bool append_from_byte_alphabet(std::string_view text, std::string& out) {
  const std::size_t before = out.size();
  for (std::size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at]);
    char32_t point = first;
    std::size_t length = 1;
    // All characters of the alphabet take one byte or two.
    if (first >= 0x80 && at + 1 < text.size()) {
      point = (first & 0x1Fu) << 6 | (static_cast<unsigned char>(text[at + 1]) & 0x3Fu);
      length = (first & 0xE0) == 0xC0 && (text[at + 1] & 0xC0) == 0x80 ? 2 : 0;
    } else if (first >= 0x80) {
      length = 0;
    }
    if (length == 0 || point >= kAlphabetEnd || kAlphabet.byte_of[point] < 0) {
      out.resize(before);
      return false;
    }
    out.push_back(static_cast<char>(kAlphabet.byte_of[point]));
    at += length;
  }
  return true;
}

std::string to_byte_alphabet(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes)
    append_utf8(out, kAlphabet.point_of[static_cast<unsigned char>(byte)]);
  return out;
}

int byte_alphabet_width(unsigned char byte) { return kAlphabet.point_of[byte] < 0x80 ? 1 : 2; }

}  // namespace linnet
