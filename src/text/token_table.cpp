#include "text/token_table.h"

#include <fmt/core.h>

#include <bit>
#include <cstring>

#include "base/error.h"
#include "text/byte_alphabet.h"

namespace linnet {
namespace {

// Up to eight bytes as a number, zeros behind. A copy of fixed size is one instruction, so shorter
// ones are put together from two that overlap.
std::uint64_t load_head(const char* data, std::size_t size) {
  const auto load = [data]<typename Word>(std::size_t at, Word word) -> std::uint64_t {
    std::memcpy(&word, data + at, sizeof(Word));
    return word;
  };
  if (size >= 8) return load(0, std::uint64_t{});
  if (size >= 4) {
    return load(0, std::uint32_t{}) | load(size - 4, std::uint32_t{}) << (8 * (size - 4));
  }
  if (size >= 2) {
    return load(0, std::uint16_t{}) | load(size - 2, std::uint16_t{}) << (8 * (size - 2));
  }
  return size == 1 ? load(0, std::uint8_t{}) : 0;
}

}  // namespace

// Multiply and fold, eight bytes at a time. Only used inside of one table, never stored.
TokenTable::Key TokenTable::key_of(std::string_view bytes) {
  constexpr std::uint64_t kFactor = 0xD6E8FEB86659FD93u;
  const std::uint64_t head = load_head(bytes.data(), bytes.size());
  std::uint64_t hash = (head ^ bytes.size() * 0x9E3779B97F4A7C15u) * kFactor;
  for (std::size_t at = 8; at < bytes.size(); at += 8) {
    hash ^= hash >> 32;
    hash = (hash ^ load_head(bytes.data() + at, bytes.size() - at)) * kFactor;
  }
  hash ^= hash >> 32;
  return {head, hash * kFactor};
}

TokenTable::TokenTable(const TokenizerData& data)
    : tokens_(data.vocab),
      slots_(std::bit_ceil(2 * tokens_.size() + 2)),
      filter_(slots_.size() / 8 + 1),
      shift_(64 - std::countr_zero(slots_.size())) {
  const std::vector<bool> encodable = encodable_ids(data);
  for (std::size_t id = 0; id < tokens_.size(); ++id) {
    if (!encodable[id]) continue;
    const Key key = key_of(tokens_[id]);
    Slot& slot = slots_[slot_of(tokens_[id], key)];
    if (slot.id != kNone) {
      fail(ErrorCode::corrupt_file,
           fmt::format("{}: ids {} and {} are both the token '{}'", data.name, slot.id, id,
                       to_byte_alphabet(tokens_[id])));
    }
    slot = {key.head, static_cast<std::uint32_t>(tokens_[id].size()), static_cast<TokenId>(id)};
    const std::uint64_t bit = key.hash >> (shift_ - 3);
    filter_[bit / 64] |= std::uint64_t{1} << bit % 64;
  }
}

std::size_t TokenTable::slot_of(std::string_view bytes, Key key) const {
  std::size_t at = key.hash >> shift_;
  for (; slots_[at].id != kNone; at = (at + 1) & (slots_.size() - 1)) {
    const Slot& slot = slots_[at];
    if (slot.head != key.head || slot.length != bytes.size()) continue;
    if (bytes.size() <= 8 || tokens_[static_cast<std::size_t>(slot.id)] == bytes) break;
  }
  return at;
}

TokenId TokenTable::find(std::string_view bytes) const {
  const Key key = key_of(bytes);
  const std::uint64_t bit = key.hash >> (shift_ - 3);
  // The filter is small enough to be near; the slots are not.
  if ((filter_[bit / 64] >> bit % 64 & 1) == 0) return kNone;
  return slots_[slot_of(bytes, key)].id;
}

}  // namespace linnet
