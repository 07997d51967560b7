// One sequence of ids on its way through the model: what is decided and what is computed. Pure
// bookkeeping: its cache is a list of blocks, whatever they hold.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/prefix_cache.h"

namespace linnet {

// Who goes first: higher priorities, then earlier requests, then earlier sequences of one.
struct SequenceOrder {
  std::int32_t priority = 0;
  std::int64_t request = 0;  // number of its arrival
  std::int64_t index = 0;    // in the request

  bool before(const SequenceOrder& other) const {
    if (priority != other.priority) return priority > other.priority;
    return request != other.request ? request < other.request : index < other.index;
  }
};

struct Sequence {
  explicit Sequence(KvCache empty) : cache(std::move(empty)) {}

  SequenceOrder order;
  std::string caller;
  PrefixPartition partition;
  std::vector<TokenId> ids;        // decided: the prompt, then what was chosen
  std::vector<TokenId> drafts;     // guesses at what follows, computed with the rest
  KvCache cache;                   // of the first of the ids
  std::int64_t prompt = 0;         // ids of the prompt: the length that rotations may depend on
  std::int64_t first_wanted = -1;  // logits are wanted from this index on; -1: of the last id only
  std::int64_t most_rows = 0;      // in one pass; 0: any number
  std::int64_t slots = 1;          // sequences that it may become
  std::int64_t cached = 0;         // ids of the prompt that were found in the prefix cache
  std::int64_t work = 0;           // rows computed for it
  std::int64_t kept = 0;           // of its blocks, in the prefix cache
  std::int64_t preemptions = 0;
  bool wants_hidden = false;  // beside its logits the rows that they are made from
  bool waits = false;         // for others of its request: not to be computed now

  std::int64_t computed() const { return cache.length(); }
  std::int64_t pending() const { return static_cast<std::int64_t>(ids.size()) - computed(); }
  // Indices from first_output() to before ids.size() have logits that are wanted.
  std::int64_t first_output() const {
    return first_wanted >= 0 ? first_wanted : static_cast<std::int64_t>(ids.size()) - 1;
  }
};

// Rows of a sequence in one pass: the next `ids` of its ids, and, with the last of them, `drafts`.
struct PlannedRows {
  std::shared_ptr<Sequence> sequence;
  std::int64_t ids = 0;
  std::int64_t drafts = 0;
  std::int64_t rows() const { return ids + drafts; }
};

}  // namespace linnet
