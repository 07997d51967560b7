#include "text/bpe.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

#include "base/error.h"

namespace linnet {
namespace {

constexpr std::uint32_t kNoSymbol = 0xFFFFFFFF;
// Up to here looking through the row is faster than the heap.
constexpr std::size_t kShortPiece = 32;

}  // namespace

MergeTable::MergeTable(std::span<const Merge> merges)
    : slots_(std::bit_ceil(2 * merges.size() + 2)),
      mask_(slots_.size() - 1),
      shift_(64 - std::countr_zero(slots_.size())) {
  std::uint32_t rank = 0;
  for (const Merge& merge : merges) {
    const std::uint64_t key = key_of(merge.left, merge.right);
    slots_[slot_of(key)] = {key, {rank++, merge.result}};
  }
}

std::size_t MergeTable::slot_of(std::uint64_t key) const {
  std::size_t at = (key * 0x9E3779B97F4A7C15u) >> shift_;
  while (slots_[at].key != key && slots_[at].found.rank != kNoRank) at = (at + 1) & mask_;
  return at;
}

MergeTable::Found MergeTable::find(TokenId left, TokenId right) const {
  return slots_[slot_of(key_of(left, right))].found;
}

Bpe::Bpe(const TokenizerData& data)
    : table_(data), merges_(data.merges), ignore_merges_(data.ignore_merges) {
  for (int byte = 0; byte < 256; ++byte) {
    const char text = static_cast<char>(byte);
    byte_ids_[static_cast<std::size_t>(byte)] = table_.find({&text, 1});
  }
}

bool Bpe::encode(std::string_view piece, BpeScratch& scratch, std::vector<TokenId>& out) const {
  if (ignore_merges_) {
    if (const TokenId id = table_.find(piece); id != TokenTable::kNone) {
      out.push_back(id);
      return false;
    }
  }
  // Indices have 32 bits, the last of which means "none".
  if (piece.size() >= std::numeric_limits<std::uint32_t>::max()) {
    fail(ErrorCode::invalid_argument,
         "a piece of text without a place to cut has 4 GiB or more; encode it in parts");
  }
  start(piece, scratch);
  if (scratch.symbols.empty()) return !piece.empty();
  const bool lost = scratch.symbols.size() < piece.size();
  if (scratch.symbols.size() <= kShortPiece) {
    merge_short(scratch);
  } else {
    merge_long(scratch);
  }
  for (std::uint32_t at = 0; at != kNoSymbol; at = scratch.symbols[at].next) {
    out.push_back(scratch.symbols[at].id);
  }
  return lost;
}

void Bpe::start(std::string_view piece, BpeScratch& scratch) const {
  auto& symbols = scratch.symbols;
  symbols.clear();
  for (const char byte : piece) {
    const TokenId id = byte_ids_[static_cast<unsigned char>(byte)];
    if (id == TokenTable::kNone) continue;
    const auto index = static_cast<std::uint32_t>(symbols.size());
    symbols.push_back({id, index - 1, index + 1, {MergeTable::kNoRank, 0}});
  }
  if (symbols.empty()) return;
  symbols.back().next = kNoSymbol;
  for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
    symbols[i].pair = merges_.find(symbols[i].id, symbols[i + 1].id);
  }
}

// Joins a symbol with its next one and renews the two pairs around it.
void Bpe::merge_at(std::uint32_t index, BpeScratch& scratch) const {
  auto& symbols = scratch.symbols;
  auto& symbol = symbols[index];
  auto& eaten = symbols[symbol.next];
  symbol.id = symbol.pair.result;
  symbol.next = eaten.next;
  symbol.pair = {MergeTable::kNoRank, 0};
  eaten.pair = {MergeTable::kNoRank, 0};
  if (symbol.next != kNoSymbol) {
    symbols[symbol.next].previous = index;
    symbol.pair = merges_.find(symbol.id, symbols[symbol.next].id);
  }
  if (symbol.previous != kNoSymbol) {
    auto& previous = symbols[symbol.previous];
    previous.pair = merges_.find(previous.id, symbol.id);
  }
}

void Bpe::merge_short(BpeScratch& scratch) const {
  const auto& symbols = scratch.symbols;
  for (;;) {
    std::uint32_t best = 0;
    for (std::uint32_t at = symbols[0].next; at != kNoSymbol; at = symbols[at].next) {
      if (symbols[at].pair.rank < symbols[best].pair.rank) best = at;
    }
    if (symbols[best].pair.rank == MergeTable::kNoRank) return;
    merge_at(best, scratch);
  }
}

// The heap keeps pairs that are gone; they are known by a rank that is no longer the symbol's.
void Bpe::merge_long(BpeScratch& scratch) const {
  const auto& symbols = scratch.symbols;
  auto& heap = scratch.heap;
  heap.clear();
  const auto add = [&](std::uint32_t index) {
    const std::uint32_t rank = symbols[index].pair.rank;
    if (rank == MergeTable::kNoRank) return false;
    heap.push_back(std::uint64_t{rank} << 32 | index);
    return true;
  };
  for (std::uint32_t i = 0; i < symbols.size(); ++i) add(i);
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const std::uint64_t top = heap.back();
    heap.pop_back();
    const auto index = static_cast<std::uint32_t>(top);
    if (symbols[index].pair.rank != top >> 32) continue;
    merge_at(index, scratch);
    if (add(index)) std::push_heap(heap.begin(), heap.end(), std::greater<>());
    const std::uint32_t previous = symbols[index].previous;
    if (previous != kNoSymbol && add(previous)) {
      std::push_heap(heap.begin(), heap.end(), std::greater<>());
    }
  }
}

}  // namespace linnet
