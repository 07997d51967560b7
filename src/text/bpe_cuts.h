// Where a piece may be cut before it is merged, because no merge reaches across. Merges only make
// tokens of the vocabulary, so a place is safe when no token that merges make agrees with the text
// around it. Scripts without spaces have pieces of whole clauses that hardly ever come twice; their
// parts between safe places do.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/tokenizer_data.h"

namespace linnet {

class SafeCuts {
 public:
  explicit SafeCuts(const TokenizerData& data);

  // The first safe place behind `from`, else the end of `piece`. Only places beside a byte that is
  // not ASCII, and at the beginning of a character, are looked at.
  std::size_t next(std::string_view piece, std::size_t from) const;

 private:
  // A token reaches some bytes before a place inside of it and some behind; up to kReach of each
  // are compared. A size is a pair of these numbers: (before - 1) * kReach + behind - 1.
  static constexpr std::size_t kReach = 3;
  static std::uint64_t window_of(std::string_view text, std::size_t at);
  static std::uint64_t bit_of(std::uint64_t window, std::size_t size);
  static std::uint16_t sizes_within(std::size_t before, std::size_t behind);
  bool is_safe(std::string_view piece, std::size_t at) const;
  void add(std::string_view token);

  // By the two bytes that meet at a place: the sizes of tokens there, a bit for each.
  std::vector<std::uint16_t> sizes_;
  // The bytes around the places inside of tokens, hashed to one bit each. Bits that meet by chance
  // only make a safe place look unsafe.
  static constexpr int kBits = 21;
  std::vector<std::uint64_t> known_;
};

}  // namespace linnet
