#include "text/bpe.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

#include "base/error.h"

namespace linnet {
namespace {

constexpr std::uint32_t kNoSymbol = 0xFFFFFFFF;
// Up to here looking through the row is faster than the heap.
constexpr std::size_t kShortPart = 32;

// Everything behind counts on it: ranges of tokens, safe cuts, decoding.
void check_merges(const TokenizerData& data) {
  const auto bytes_of = [&](TokenId id) {
    return std::string_view(data.vocab[static_cast<std::size_t>(id)]);
  };
  for (std::size_t rank = 0; rank < data.merges.size(); ++rank) {
    const Merge& merge = data.merges[rank];
    const std::string_view left = bytes_of(merge.left);
    const std::string_view right = bytes_of(merge.right);
    const std::string_view result = bytes_of(merge.result);
    if (result.size() == left.size() + right.size() && result.starts_with(left) &&
        result.ends_with(right)) {
      continue;
    }
    fail(ErrorCode::corrupt_file,
         fmt::format("{}: merge {} of the ids {} and {} makes id {}, which has other bytes",
                     data.name, rank, merge.left, merge.right, merge.result));
  }
}

}  // namespace

MergeTable::MergeTable(std::span<const Merge> merges)
    : slots_(std::bit_ceil(merges.size() + merges.size() / 2 + 8), kFree),
      filter_(slots_.size() / 8),
      shift_(64 - std::countr_zero(slots_.size())) {
  results_.reserve(merges.size());
  for (const Merge& merge : merges) {
    const std::uint64_t key = key_of(merge.left, merge.right);
    slots_[slot_of(key)] = key << kRankBits | results_.size();
    results_.push_back(merge.result);
    const std::uint64_t bit = hash_of(key) >> (shift_ - 3);
    filter_[bit / 64] |= std::uint64_t{1} << bit % 64;
  }
}

std::size_t MergeTable::slot_of(std::uint64_t key) const {
  std::size_t at = hash_of(key) >> shift_;
  while (slots_[at] >> kRankBits != key && slots_[at] != kFree) at = (at + 1) & (slots_.size() - 1);
  return at;
}

std::uint32_t MergeTable::rank_of(TokenId left, TokenId right) const {
  const std::uint64_t key = key_of(left, right);
  const std::uint64_t bit = hash_of(key) >> (shift_ - 3);
  if ((filter_[bit / 64] >> bit % 64 & 1) == 0) return kNoRank;
  const std::uint64_t slot = slots_[slot_of(key)];
  return slot == kFree ? kNoRank : static_cast<std::uint32_t>(slot) & ((1u << kRankBits) - 1);
}

Bpe::Bpe(const TokenizerData& data)
    : table_(data), merges_(data.merges), cuts_(data), ignore_merges_(data.ignore_merges) {
  check_merges(data);
  for (int byte = 0; byte < 256; ++byte) {
    const char text = static_cast<char>(byte);
    byte_ids_[static_cast<std::size_t>(byte)] = table_.find({&text, 1});
  }
  byte_ranks_.reserve(256 * 256);
  for (const TokenId left : byte_ids_) {
    for (const TokenId right : byte_ids_) {
      const bool both = left != TokenTable::kNone && right != TokenTable::kNone;
      byte_ranks_.push_back(both ? merges_.rank_of(left, right) : MergeTable::kNoRank);
    }
  }
  all_bytes_ = std::find(byte_ids_.begin(), byte_ids_.end(), TokenTable::kNone) == byte_ids_.end();
}

void Bpe::encode(const Pieces& pieces, BpeScratch& scratch, IdSink& out,
                 std::span<std::size_t> id_ends) const {
  const char* begin = pieces.begin;
  TokenId* room = out.room(PieceCache::kMaxIds * pieces.ends.size());
  for (std::size_t i = 0; i < pieces.ends.size(); ++i) {
    const std::string_view piece(begin, pieces.ends[i]);
    begin = pieces.ends[i];
    std::size_t known = 0;
    if (piece.size() <= PieceKey::kMaxBytes) {
      known = scratch.cache.find(PieceKey::of(piece, pieces.text_end), room);
    }
    if (known > 0) {
      room += known;
      out.take(known);
    } else {
      encode_new(piece, pieces.text_end, scratch, out);
      room = out.room(PieceCache::kMaxIds * (pieces.ends.size() - i));
    }
    id_ends[i] = out.size();
  }
}

void Bpe::encode_new(std::string_view piece, const char* text_end, BpeScratch& scratch,
                     IdSink& out) const {
  const std::size_t first = out.size();
  const TokenId whole = ignore_merges_ ? table_.find(piece) : TokenTable::kNone;
  if (whole != TokenTable::kNone) {
    out.push(whole);
  } else if (loses(piece)) {
    // The neighbours of a lost byte may merge, so nothing is known about safe places.
    return merge(piece, scratch, out);
  } else {
    encode_parts(piece, text_end, scratch, out);
  }
  if (piece.size() > PieceKey::kMaxBytes) return;
  scratch.cache.store(PieceKey::of(piece, text_end), out.data() + first, out.size() - first);
}

// By the parts between safe places. Where merges may be ignored this holds for whole pieces only,
// so parts are remembered apart from them.
void Bpe::encode_parts(std::string_view piece, const char* text_end, BpeScratch& scratch,
                       IdSink& out) const {
  for (std::size_t from = 0, end = 0; from < piece.size(); from = end) {
    end = cuts_.next(piece, from);
    const std::string_view part = piece.substr(from, end - from);
    if (part.size() == piece.size() || part.size() > PieceKey::kMaxBytes) {
      merge(part, scratch, out);
      continue;
    }
    PieceKey key = PieceKey::of(part, text_end);
    if (ignore_merges_) key.high |= PieceKey::kMergesOnly;
    const std::size_t known = scratch.cache.find(key, out.room(PieceCache::kMaxIds));
    const std::size_t first = out.size();
    out.take(known);
    if (known > 0) continue;
    merge(part, scratch, out);
    scratch.cache.store(key, out.data() + first, out.size() - first);
  }
}

bool Bpe::loses(std::string_view piece) const {
  return !all_bytes_ && std::any_of(piece.begin(), piece.end(), [this](char byte) {
    return byte_ids_[static_cast<unsigned char>(byte)] == TokenTable::kNone;
  });
}

void Bpe::merge(std::string_view part, BpeScratch& scratch, IdSink& out) const {
  if (part.size() <= kShortPart) return merge_short(part, out);
  // Indices have 32 bits, the last of which means "none".
  if (part.size() >= std::numeric_limits<std::uint32_t>::max()) {
    fail(ErrorCode::invalid_argument,
         "a piece of text without a place to cut has 4 GiB or more; encode it in parts");
  }
  start(part, scratch);
  if (scratch.symbols.empty()) return;
  merge_long(scratch);
  for (std::uint32_t at = 0; at != kNoSymbol; at = scratch.symbols[at].next) {
    out.push(scratch.symbols[at].id);
  }
}

void Bpe::merge_short(std::string_view part, IdSink& out) const {
  TokenId* ids = out.room(kShortPart);
  std::array<std::uint32_t, kShortPart> ranks;  // of each id with the next one
  std::size_t count = 0;
  for (const char byte : part) {
    const TokenId id = byte_ids_[static_cast<unsigned char>(byte)];
    if (id != TokenTable::kNone) ids[count++] = id;
  }
  const bool whole = count == part.size();
  for (std::size_t i = 0; i + 1 < count; ++i) {
    ranks[i] = whole ? rank_of_bytes(part[i], part[i + 1]) : merges_.rank_of(ids[i], ids[i + 1]);
  }
  while (count > 1) {
    std::uint64_t best = ~std::uint64_t{0};  // rank << 32 | index
    for (std::size_t i = 0; i + 1 < count; ++i) {
      best = std::min(best, std::uint64_t{ranks[i]} << 32 | i);
    }
    const auto rank = static_cast<std::uint32_t>(best >> 32);
    if (rank == MergeTable::kNoRank) break;
    const auto at = static_cast<std::uint32_t>(best);
    ids[at] = merges_.result_of(rank);
    std::copy(ids + at + 2, ids + count, ids + at + 1);
    std::copy(ranks.data() + at + 1, ranks.data() + count - 1, ranks.data() + at);
    --count;
    if (at + 1 < count) ranks[at] = merges_.rank_of(ids[at], ids[at + 1]);
    if (at > 0) ranks[at - 1] = merges_.rank_of(ids[at - 1], ids[at]);
  }
  out.take(count);
}

void Bpe::start(std::string_view part, BpeScratch& scratch) const {
  auto& symbols = scratch.symbols;
  symbols.clear();
  for (const char byte : part) {
    const TokenId id = byte_ids_[static_cast<unsigned char>(byte)];
    if (id == TokenTable::kNone) continue;
    const auto index = static_cast<std::uint32_t>(symbols.size());
    symbols.push_back({id, index - 1, index + 1, MergeTable::kNoRank});
  }
  if (symbols.empty()) return;
  symbols.back().next = kNoSymbol;
  for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
    symbols[i].rank = merges_.rank_of(symbols[i].id, symbols[i + 1].id);
  }
}

// Joins a symbol with its next one and renews the two ranks around it.
void Bpe::merge_at(std::uint32_t index, BpeScratch& scratch) const {
  auto& symbols = scratch.symbols;
  auto& symbol = symbols[index];
  auto& eaten = symbols[symbol.next];
  symbol.id = merges_.result_of(symbol.rank);
  symbol.next = eaten.next;
  symbol.rank = MergeTable::kNoRank;
  eaten.rank = MergeTable::kNoRank;
  if (symbol.next != kNoSymbol) {
    symbols[symbol.next].previous = index;
    symbol.rank = merges_.rank_of(symbol.id, symbols[symbol.next].id);
  }
  if (symbol.previous != kNoSymbol) {
    auto& previous = symbols[symbol.previous];
    previous.rank = merges_.rank_of(previous.id, symbol.id);
  }
}

// The heap keeps pairs that are gone; they are known by a rank that is no longer the symbol's.
void Bpe::merge_long(BpeScratch& scratch) const {
  const auto& symbols = scratch.symbols;
  auto& heap = scratch.heap;
  heap.clear();
  const auto add = [&](std::uint32_t index) {
    const std::uint32_t rank = symbols[index].rank;
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
    if (symbols[index].rank != top >> 32) continue;
    merge_at(index, scratch);
    if (add(index)) std::push_heap(heap.begin(), heap.end(), std::greater<>());
    const std::uint32_t previous = symbols[index].previous;
    if (previous != kNoSymbol && add(previous)) {
      std::push_heap(heap.begin(), heap.end(), std::greater<>());
    }
  }
}

}  // namespace linnet
