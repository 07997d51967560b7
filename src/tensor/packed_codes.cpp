#include "tensor/packed_codes.h"

#include <algorithm>

#include "base/error.h"

namespace linnet {

void unpack_codes(std::span<const std::uint32_t> words, int bits, std::span<std::uint8_t> codes) {
  LINNET_CHECK(words.size() * 32 == codes.size() * static_cast<std::size_t>(bits));
  std::uint64_t window = 0;
  int available = 0;
  std::size_t next = 0;
  const std::uint32_t mask = (1u << bits) - 1;
  for (std::uint8_t& code : codes) {
    if (available < bits) {
      window |= std::uint64_t{words[next++]} << available;
      available += 32;
    }
    code = static_cast<std::uint8_t>(window & mask);
    window >>= bits;
    available -= bits;
  }
}

void pack_codes(std::span<const std::uint8_t> codes, int bits, std::span<std::uint32_t> words) {
  LINNET_CHECK(words.size() * 32 == codes.size() * static_cast<std::size_t>(bits));
  std::fill(words.begin(), words.end(), 0u);
  std::size_t at = 0;
  for (const std::uint8_t code : codes) {
    LINNET_CHECK(code >> bits == 0, "a code has more bits than the format");
    const std::size_t word = at / 32, shift = at % 32;
    words[word] |= std::uint32_t{code} << shift;
    if (shift + static_cast<std::size_t>(bits) > 32) {
      words[word + 1] |= std::uint32_t{code} >> (32 - shift);
    }
    at += static_cast<std::size_t>(bits);
  }
}

}  // namespace linnet
