// The character classes of the split rules, as the reference's expression engine sees them
// (Unicode 16): \p{L}, \p{N}, \s and everything else. The ranges are in unicode_tables.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace linnet {

struct PointRange {
  std::uint32_t first;
  std::uint32_t last;
};

extern const std::span<const PointRange> kLetterRanges;
extern const std::span<const PointRange> kNumberRanges;
extern const std::span<const PointRange> kSpaceRanges;
// Digits to the splitter of single digits (newer data), but not \p{N}.
extern const std::span<const PointRange> kExtraDigitRanges;

enum class CharClass : std::uint8_t { other, letter, number, space };

// Classes of all code points in two stages; blocks of equal content are stored once.
class CharClasses {
 public:
  static const CharClasses& get();
  CharClass of(char32_t point) const {
    if (point >= kPoints) return CharClass::other;
    return blocks_[block_of_[point / kBlock] * kBlock + point % kBlock];
  }
  // \p{N} and the digits that only the splitter of single digits knows.
  bool is_single_digit(char32_t point) const;
  // \w of the reference: letters, marks, numbers of kind Nd and Nl, connectors, joiners.
  static bool is_word(char32_t point);

 private:
  CharClasses();
  static constexpr std::uint32_t kPoints = 0x110000;
  static constexpr std::uint32_t kBlock = 256;
  static constexpr std::uint32_t kMaxBlocks = 256;
  std::array<std::uint8_t, kPoints / kBlock> block_of_{};
  std::array<CharClass, kMaxBlocks * kBlock> blocks_{};
};

}  // namespace linnet
