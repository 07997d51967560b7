#include "text/token_table.h"

#include <fmt/core.h>

#include <bit>
#include <cstring>

#include "base/error.h"
#include "text/byte_alphabet.h"

namespace linnet {
namespace {

// Multiply and fold, eight bytes at a time. Only used inside of one table, never stored.
std::uint32_t hash_of(std::string_view bytes) {
  std::uint64_t hash = bytes.size() * 0x9E3779B97F4A7C15u;
  const char* data = bytes.data();
  std::size_t left = bytes.size();
  while (left > 0) {
    std::uint64_t word = 0;
    const std::size_t take = left < 8 ? left : 8;
    std::memcpy(&word, data, take);
    hash = (hash ^ word) * 0xD6E8FEB86659FD93u;
    hash ^= hash >> 32;
    data += take;
    left -= take;
  }
  hash *= 0xD6E8FEB86659FD93u;
  return static_cast<std::uint32_t>(hash >> 32);
}

}  // namespace

TokenTable::TokenTable(const TokenizerData& data)
    : tokens_(data.vocab), slots_(std::bit_ceil(2 * tokens_.size() + 2)), mask_(slots_.size() - 1) {
  const std::vector<bool> encodable = encodable_ids(data);
  for (std::size_t id = 0; id < tokens_.size(); ++id) {
    if (!encodable[id]) continue;
    const std::uint32_t hash = hash_of(tokens_[id]);
    Slot& slot = slots_[slot_of(tokens_[id], hash)];
    if (slot.id != kNone) {
      fail(ErrorCode::corrupt_file,
           fmt::format("{}: ids {} and {} are both the token '{}'", data.name, slot.id, id,
                       to_byte_alphabet(tokens_[id])));
    }
    slot = {hash, static_cast<TokenId>(id)};
  }
}

std::size_t TokenTable::slot_of(std::string_view bytes, std::uint32_t hash) const {
  std::size_t at = hash & mask_;
  for (; slots_[at].id != kNone; at = (at + 1) & mask_) {
    if (slots_[at].hash == hash && tokens_[static_cast<std::size_t>(slots_[at].id)] == bytes) break;
  }
  return at;
}

TokenId TokenTable::find(std::string_view bytes) const {
  return slots_[slot_of(bytes, hash_of(bytes))].id;
}

}  // namespace linnet
