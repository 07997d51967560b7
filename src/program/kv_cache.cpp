#include "program/kv_cache.h"

#include "base/error.h"

namespace linnet {
namespace {

std::int64_t slabs_for(std::int64_t positions) {
  constexpr std::int64_t kPositions = KvCache::kSlabBlocks * KvCache::kBlockPositions;
  return (positions + kPositions - 1) / kPositions;
}

}  // namespace

KvCache KvCache::of_blocks(std::int64_t block_bytes) {
  KvCache cache(0, 0);
  cache.block_bytes_ = block_bytes;
  return cache;
}

void KvCache::reserve(std::int64_t count) {
  while (static_cast<std::int64_t>(slabs_.size()) < slabs_for(length_ + count)) {
    slabs_.emplace_back(static_cast<std::uint64_t>(kSlabBlocks * block_bytes_),
                        MemoryAccount::cache());
  }
  columns_.resize(static_cast<std::size_t>(length_ + count));
}

void KvCache::declare_length(std::int64_t positions) {
  LINNET_CHECK(length_ == 0 && positions >= 0, "the length of a sequence that has begun");
  declared_ = positions;
}

void KvCache::take_place_of(const KvCache& other) {
  LINNET_CHECK(length_ == 0);
  reserve(other.length_);
  columns_ = other.columns_;
  length_ = other.length_;
  declared_ = other.declared_;
  first_call_ = other.first_call_;
}

void KvCache::truncate(std::int64_t length) {
  LINNET_CHECK(length >= 0 && length <= length_);
  length_ = length;
  if (length == 0) first_call_ = 0;
  slabs_.resize(static_cast<std::size_t>(slabs_for(length)));
}

}  // namespace linnet
