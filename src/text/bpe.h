// Byte-pair merges of one piece: the pair of lowest rank, leftmost first, until none is left.
// Short pieces look for it in a row, long ones in a heap, so the time is never quadratic.
// The tables are fixed after construction; each caller brings its own scratch space.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/token_table.h"
#include "text/tokenizer_data.h"

namespace linnet {

// From a pair of ids to its merge: flat open addressing.
class MergeTable {
 public:
  static constexpr std::uint32_t kNoRank = 0xFFFFFFFF;
  struct Found {
    std::uint32_t rank;  // kNoRank: the pair does not merge
    TokenId result;
  };

  // Pairs that come twice keep their last place, as in the reference.
  explicit MergeTable(std::span<const Merge> merges);
  Found find(TokenId left, TokenId right) const;

 private:
  struct Slot {
    std::uint64_t key = ~std::uint64_t{0};
    Found found{kNoRank, 0};
  };
  static std::uint64_t key_of(TokenId left, TokenId right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 |
           static_cast<std::uint32_t>(right);
  }
  std::size_t slot_of(std::uint64_t key) const;

  std::vector<Slot> slots_;
  std::size_t mask_;
  int shift_;
};

struct BpeScratch {
  // A token within the piece. Dead ones have rank kNoRank and are in no list.
  struct Symbol {
    TokenId id;
    std::uint32_t previous;
    std::uint32_t next;
    MergeTable::Found pair;  // with the next symbol
  };
  std::vector<Symbol> symbols;
  std::vector<std::uint64_t> heap;  // rank << 32 | index; smallest on top
};

class Bpe {
 public:
  // Takes the vocabulary of `data`, except what is for decoding only. The strings must outlive
  // this object and keep their place (moving the vector keeps it).
  explicit Bpe(const TokenizerData& data);

  // Appends the ids of `piece`. A byte without an entry gives none; true when that happened.
  bool encode(std::string_view piece, BpeScratch& scratch, std::vector<TokenId>& out) const;
  TokenId find(std::string_view bytes) const { return table_.find(bytes); }

 private:
  void start(std::string_view piece, BpeScratch& scratch) const;
  void merge_at(std::uint32_t index, BpeScratch& scratch) const;
  void merge_short(BpeScratch& scratch) const;
  void merge_long(BpeScratch& scratch) const;

  TokenTable table_;
  MergeTable merges_;
  std::array<TokenId, 256> byte_ids_;
  bool ignore_merges_;
};

}  // namespace linnet
