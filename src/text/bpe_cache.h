// What short pieces became, so that words that come again cost one look. A cache belongs to one
// caller at a time; it has a fixed size (2 MiB, touched as it fills) and forgets the older of two
// entries of a set.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "text/tokenizer_data.h"

namespace linnet {

// The bytes of a short piece, zeros behind, its length, and whether merges alone were to be used.
struct PieceKey {
  static constexpr std::size_t kMaxBytes = 15;
  static constexpr std::uint64_t kMergesOnly = std::uint64_t{1} << 63;
  std::uint64_t low;
  std::uint64_t high;  // the length in bits 56 to 59

  // Of 1 to kMaxBytes bytes. Bytes up to `text_end` may be read: a load of fixed size is faster
  // than an exact one.
  static PieceKey of(std::string_view piece, const char* text_end);

 private:
  static_assert(std::endian::native == std::endian::little, "the masks keep the first bytes");
  // At 8 + n: the mask of n bytes, with none below and all above.
  static constexpr std::array<std::uint64_t, 24> kMasks = [] {
    std::array<std::uint64_t, 24> masks{};
    for (std::size_t i = 9; i < masks.size(); ++i) masks[i] = masks[i - 1] << 8 | 0xFF;
    return masks;
  }();
};

inline PieceKey PieceKey::of(std::string_view piece, const char* text_end) {
  std::array<std::uint64_t, 2> words{};
  const std::size_t size = piece.size();
  const bool near_end = text_end - piece.data() < 16;
  if (near_end) {
    std::memcpy(words.data(), piece.data(), std::min(size, kMaxBytes));
  } else {
    std::memcpy(words.data(), piece.data(), 16);
  }
  return {words[0] & kMasks[size + 8], (words[1] & kMasks[size]) | std::uint64_t{size} << 56};
}

class PieceCache {
 public:
  static constexpr std::size_t kMaxIds = 4;
  PieceCache();

  // Copies what the piece became to `ids`, which has room for kMaxIds; 0 when it is not known.
  std::size_t find(const PieceKey& key, TokenId* ids) const {
    const Set& set = sets_[set_of(key)];
    // Without a branch between the two: none could be foretold.
    const Entry& entry = set.entries[is(set.entries[0], key) ? 0 : 1];
    std::memcpy(ids, entry.ids, sizeof(entry.ids));
    return is(entry, key) ? 1 + (entry.key.high >> kCountShift & 3) : 0;
  }
  // Other numbers of ids than 1 to kMaxIds are not kept.
  void store(PieceKey key, const TokenId* ids, std::size_t count);

 private:
  static constexpr int kSetBits = 15;
  // The number of ids less one stands in the key's free bits 60 and 61.
  static constexpr int kCountShift = 60;
  static constexpr std::uint64_t kCountMask = std::uint64_t{3} << kCountShift;
  struct Entry {
    PieceKey key;  // all zero: free; no piece has length 0
    TokenId ids[kMaxIds];
  };
  struct Set {
    Entry entries[2];  // the newer first
  };
  struct Free {
    void operator()(Set* sets) const { std::free(sets); }
  };
  static bool is(const Entry& entry, const PieceKey& key) {
    return ((entry.key.low ^ key.low) | ((entry.key.high ^ key.high) & ~kCountMask)) == 0;
  }
  static std::size_t set_of(const PieceKey& key) {
    const std::uint64_t mixed = (key.low ^ key.high * 0xD6E8FEB86659FD93u) * 0x9E3779B97F4A7C15u;
    return mixed >> (64 - kSetBits);
  }

  std::unique_ptr<Set[], Free> sets_;
};

}  // namespace linnet
