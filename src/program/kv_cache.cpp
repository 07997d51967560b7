#include "program/kv_cache.h"

#include "base/error.h"

namespace linnet {

std::int64_t KvCache::bytes_per_block() const {
  return layers_ * 2 * kBlockPositions * kv_width_ * static_cast<std::int64_t>(sizeof(float));
}

void KvCache::reserve(std::int64_t count) {
  const std::int64_t blocks = (length_ + count + kBlockPositions - 1) / kBlockPositions;
  while (static_cast<std::int64_t>(blocks_.size()) < blocks) {
    blocks_.emplace_back(static_cast<std::uint64_t>(bytes_per_block()), MemoryAccount::cache());
  }
  columns_.resize(static_cast<std::size_t>(length_ + count));
}

void KvCache::truncate(std::int64_t length) {
  LINNET_CHECK(length >= 0 && length <= length_);
  length_ = length;
  blocks_.resize(static_cast<std::size_t>((length + kBlockPositions - 1) / kBlockPositions));
}

}  // namespace linnet
