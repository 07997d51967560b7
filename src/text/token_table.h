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
  struct Slot {
    std::uint32_t hash = 0;
    TokenId id = kNone;
  };
  std::size_t slot_of(std::string_view bytes, std::uint32_t hash) const;

  std::span<const std::string> tokens_;
  std::vector<Slot> slots_;
  std::size_t mask_;
};

}  // namespace linnet
