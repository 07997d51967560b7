// Codes of 2 to 8 bits in a stream of 32-bit words, lowest bits first: value i has the stream's
// bits [i * bits, (i + 1) * bits), so codes of 3 and 6 bits straddle words. A row starts a new
// word.
#pragma once

#include <cstdint>
#include <span>

namespace linnet {

// Words of a row; `count * bits` must be a multiple of 32.
inline std::int64_t packed_words(std::int64_t count, int bits) { return count * bits / 32; }

void unpack_codes(std::span<const std::uint32_t> words, int bits, std::span<std::uint8_t> codes);
// Bits of a code above `bits` are a bug.
void pack_codes(std::span<const std::uint8_t> codes, int bits, std::span<std::uint32_t> words);

}  // namespace linnet
