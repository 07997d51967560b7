// From the bytes of a token to its id: one flat open-addressing table over strings that live
// elsewhere (the vector's storage must outlive the table and keep its place).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer_data.h"

namespace linnet {

class TokenTable {
 public:
  static constexpr TokenId kNone = -1;

  // All ids that text may become. Error{corrupt_file} when two of them have the same bytes.
  explicit TokenTable(const TokenizerData& data);
  TokenId find(std::string_view bytes) const;

 private:
  // Tokens of up to eight bytes, which are most, are told apart without a look at their string.
  struct Slot {
    std::uint64_t head = 0;  // the first eight bytes, zeros behind
    std::uint32_t length = 0;
    TokenId id = kNone;
  };
  struct Key {
    std::uint64_t head;
    std::uint64_t hash;
  };
  static Key key_of(std::string_view bytes);
  std::size_t slot_of(std::string_view bytes, Key key) const;

  std::span<const std::string> tokens_;
  std::vector<Slot> slots_;
  std::vector<std::uint64_t> filter_;  // eight bits for each slot, those of tokens set
  int shift_;
};

}  // namespace linnet
