// Byte-pair merges of one piece: the pair of lowest rank, leftmost first, until none is left.
// Short pieces look for it in a row, long ones in a heap, so the time is never quadratic; short
// pieces that came before are remembered, and long ones are cut where no merge reaches across.
// The tables are fixed after construction; each caller brings its own scratch space.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/bpe_cache.h"
#include "text/bpe_cuts.h"
#include "text/id_sink.h"
#include "text/token_table.h"
#include "text/tokenizer_data.h"

namespace linnet {

// From a pair of ids to its merge: flat open addressing, behind a filter that knows most of the
// pairs that do not merge.
class MergeTable {
 public:
  static constexpr std::uint32_t kNoRank = 0xFFFFFFFF;

  // At most kMaxMerges. Pairs that come twice keep their last place, as in the reference.
  explicit MergeTable(std::span<const Merge> merges);
  // kNoRank: the pair does not merge. Ids are in 0 to kMaxTokenId.
  std::uint32_t rank_of(TokenId left, TokenId right) const;
  TokenId result_of(std::uint32_t rank) const { return results_[rank]; }

 private:
  // A slot has two ids of 21 bits and a rank of 22 bits, all of them set when it is free.
  static constexpr int kIdBits = 21;
  static constexpr int kRankBits = 22;
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};
  static_assert(kMaxTokenId < 1 << kIdBits && kMaxMerges < 1 << kRankBits);
  static std::uint64_t key_of(TokenId left, TokenId right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << kIdBits |
           static_cast<std::uint32_t>(right);
  }
  static std::uint64_t hash_of(std::uint64_t key) { return key * 0x9E3779B97F4A7C15u; }
  std::size_t slot_of(std::uint64_t key) const;

  std::vector<std::uint64_t> slots_;
  std::vector<std::uint64_t> filter_;  // eight bits for each slot, those of merges set
  std::vector<TokenId> results_;       // by rank
  int shift_;
};

struct BpeScratch {
  // A token within the piece. Dead ones have rank kNoRank and are in no list.
  struct Symbol {
    TokenId id;
    std::uint32_t previous;
    std::uint32_t next;
    std::uint32_t rank;  // of the merge with the next symbol
  };
  PieceCache cache;
  std::vector<Symbol> symbols;
  std::vector<std::uint64_t> heap;  // rank << 32 | index; smallest on top
};

class Bpe {
 public:
  // Takes the vocabulary of `data`, except what is for decoding only. The strings must outlive
  // this object and keep their place (moving the vector keeps it). Error{corrupt_file} when two
  // ids are the same bytes, or a merge makes other bytes than those of its sides.
  explicit Bpe(const TokenizerData& data);

  // Text, and the ends of pieces of it, each behind the one before. Bytes up to text_end are there.
  struct Pieces {
    const char* begin;  // of the first piece
    std::span<const char* const> ends;
    const char* text_end;
  };
  // Appends the ids of the pieces, none empty, and tells how many there are in `out` behind each. A
  // byte without an entry gives no id. The scratch space must not have been used with another Bpe.
  void encode(const Pieces& pieces, BpeScratch& scratch, IdSink& out,
              std::span<std::size_t> id_ends) const;
  // True when a byte of the piece has no entry.
  bool loses(std::string_view piece) const;
  TokenId find(std::string_view bytes) const { return table_.find(bytes); }

 private:
  void encode_new(std::string_view piece, const char* text_end, BpeScratch& scratch,
                  IdSink& out) const;
  void encode_parts(std::string_view piece, const char* text_end, BpeScratch& scratch,
                    IdSink& out) const;
  std::uint32_t rank_of_bytes(char left, char right) const {
    return byte_ranks_[std::size_t{static_cast<unsigned char>(left)} * 256 +
                       static_cast<unsigned char>(right)];
  }
  void merge(std::string_view part, BpeScratch& scratch, IdSink& out) const;
  void merge_short(std::string_view part, IdSink& out) const;
  void merge_long(BpeScratch& scratch) const;
  void start(std::string_view piece, BpeScratch& scratch) const;
  void merge_at(std::uint32_t index, BpeScratch& scratch) const;

  TokenTable table_;
  MergeTable merges_;
  SafeCuts cuts_;
  std::array<TokenId, 256> byte_ids_;
  std::vector<std::uint32_t> byte_ranks_;  // [256 * left + right], of bytes
  bool all_bytes_;                         // each byte has an id
  bool ignore_merges_;
};

}  // namespace linnet
