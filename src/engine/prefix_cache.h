// Computed blocks by the ids that they were computed from: a tree whose every node is one block. A
// sequence that begins as an earlier one did takes its blocks and computes only the rest, with the
// same bits. Partitions share nothing: a caller's salt, a length that rotations depend on.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "program/kv_cache.h"
#include "text/tokenizer_data.h"

namespace linnet {

struct PrefixStats {
  std::int64_t hits = 0;     // positions that were asked for and found
  std::int64_t misses = 0;   // and not found
  std::int64_t evicted = 0;  // blocks
};

// Two sequences of one partition have the same keys and values wherever they have the same ids.
struct PrefixPartition {
  std::string salt;
  std::int64_t rope_length = 0;  // KvCache::rope_length where rotations depend on it, else 0
  auto operator<=>(const PrefixPartition&) const = default;
};

class PrefixCache {
 public:
  PrefixCache();
  ~PrefixCache();

  struct Match {
    std::vector<BlockRef> blocks;
    std::int64_t length = 0;  // positions; the last block may be part full
  };
  // The longest beginning of `ids` that is here, used last from now on. Not counted by the stats.
  Match find(const PrefixPartition& partition, std::span<const TokenId> ids);
  void count(std::int64_t hits, std::int64_t misses);

  // Keeps the blocks of a cache that holds at least `ids`. Where a full block of the same ids is
  // here already, the cache gets that one for its own. A last, part full block is then shared, so
  // who goes on writing to it must copy it: while a sequence runs, keep its full blocks only.
  void keep(const PrefixPartition& partition, std::span<const TokenId> ids, KvCache& cache);

  // Gives up to `count` blocks back that nobody else holds, the longest unused first; how many.
  std::int64_t evict(std::int64_t count);
  std::int64_t evictable() const;  // blocks that evict() could give back
  std::int64_t blocks() const { return blocks_; }
  void clear();
  const PrefixStats& stats() const { return stats_; }

  // Every block once, parents before their children.
  struct Entry {
    const PrefixPartition* partition;
    std::int64_t parent;  // index of its entry; -1: the first of a sequence
    std::span<const TokenId> ids;
    const BlockRef* block;
  };
  std::vector<Entry> entries() const;
  // Adds one as a child of the node that an earlier call returned; null: the first of a sequence.
  struct Node;
  Node* restore(const PrefixPartition& partition, Node* parent, std::span<const TokenId> ids,
                BlockRef block);

 private:
  Node& root(const PrefixPartition& partition);
  Node* add(Node& parent, std::span<const TokenId> ids, BlockRef block);
  void drop_part_of(Node& parent, std::span<const TokenId> ids);

  std::map<PrefixPartition, std::unique_ptr<Node>> roots_;
  std::uint64_t time_ = 0;
  std::int64_t blocks_ = 0;
  PrefixStats stats_;
};

}  // namespace linnet
