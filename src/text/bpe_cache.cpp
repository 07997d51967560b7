#include "text/bpe_cache.h"

#include <new>

namespace linnet {

// Memory that the system hands out as zeros, page by page when it is first used: who encodes a line
// does not pay for all of it.
PieceCache::PieceCache()
    : sets_(static_cast<Set*>(std::calloc(std::size_t{1} << kSetBits, sizeof(Set)))) {
  if (sets_ == nullptr) throw std::bad_alloc();
}

void PieceCache::store(PieceKey key, const TokenId* ids, std::size_t count) {
  if (count == 0 || count > kMaxIds) return;
  Set& set = sets_[set_of(key)];
  set.entries[1] = set.entries[0];
  key.high |= std::uint64_t{count - 1} << kCountShift;
  set.entries[0] = {key, {}};
  std::copy(ids, ids + count, set.entries[0].ids);
}

}  // namespace linnet
