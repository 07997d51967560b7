#include "text/unicode_classes.h"

#include <utf8proc.h>

#include <algorithm>
#include <vector>

#include "base/error.h"

namespace linnet {
namespace {

bool holds(std::span<const PointRange> ranges, std::uint32_t point) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), point,
                                      [](std::uint32_t p, PointRange r) { return p < r.first; });
  return after != ranges.begin() && point <= std::prev(after)->last;
}

}  // namespace

CharClasses::CharClasses() {
  std::vector<CharClass> points(kPoints, CharClass::other);
  const auto mark = [&](std::span<const PointRange> ranges, CharClass value) {
    for (const PointRange range : ranges) {
      std::fill(points.begin() + range.first, points.begin() + range.last + 1, value);
    }
  };
  mark(kLetterRanges, CharClass::letter);
  mark(kNumberRanges, CharClass::number);
  mark(kSpaceRanges, CharClass::space);
  std::uint32_t used = 0;
  for (std::uint32_t block = 0; block < kPoints / kBlock; ++block) {
    const auto from = points.begin() + block * kBlock;
    std::uint32_t same = 0;
    while (same < used && !std::equal(from, from + kBlock, blocks_.begin() + same * kBlock)) {
      ++same;
    }
    if (same == used) {
      LINNET_CHECK(used < kMaxBlocks, "the tables of Unicode classes need more blocks");
      std::copy(from, from + kBlock, blocks_.begin() + used++ * kBlock);
    }
    block_of_[block] = static_cast<std::uint8_t>(same);
  }
}

const CharClasses& CharClasses::get() {
  static const CharClasses classes;
  return classes;
}

bool CharClasses::is_single_digit(char32_t point) const {
  return of(point) == CharClass::number || (point > 0x7F && holds(kExtraDigitRanges, point));
}

bool CharClasses::is_word(char32_t point) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(point))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      break;
  }
  // Joiners, and the circled and squared letters, which are symbols but alphabetic.
  return point == 0x200C || point == 0x200D || (point >= 0x24B6 && point <= 0x24E9) ||
         (point >= 0x1F130 && point <= 0x1F149) || (point >= 0x1F150 && point <= 0x1F169) ||
         (point >= 0x1F170 && point <= 0x1F189);
}

}  // namespace linnet
