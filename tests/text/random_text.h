// Random valid UTF-8 that goes through all character classes and is dense in the places where
// tokenizers go wrong: spaces, newlines, digits, apostrophes, joiners, rare scripts.
#pragma once

#include <random>
#include <string>

#include "base/utf8.h"

namespace toy {

inline std::string random_text(std::mt19937& random, std::size_t points) {
  static constexpr char32_t kDense[] = {
      ' ', ' ', ' ', '\n', '\r', '\t', '\'', 's',    'S',    'l',   'e',    'r',   'v',  '0', '9',
      '.', '-', '<', '|',  '>',  '_',  0xA0, 0x2028, 0x3000, 0x17F, 0x200D, 0x301, 0x85, 0};
  std::string text;
  for (std::size_t i = 0; i < points; ++i) {
    char32_t point = 0;
    switch (random() % 6) {
      case 0:
        point = 'a' + random() % 26;
        break;
      case 1:
        point = random() % 0x3000;
        break;
      case 2:
        point = random() % 0x110000;
        break;
      default:
        point = kDense[random() % std::size(kDense)];
    }
    if (point >= 0xD800 && point <= 0xDFFF) point = 0x4E2D;
    linnet::append_utf8(text, point);
  }
  return text;
}

}  // namespace toy
