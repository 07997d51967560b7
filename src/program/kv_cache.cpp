#include "program/kv_cache.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/error.h"

namespace linnet {

void KvCache::begin_with(std::span<const BlockRef> blocks, std::int64_t length,
                         std::int64_t rope_length) {
  LINNET_CHECK(length_ == 0 && static_cast<std::int64_t>(blocks.size()) == blocks_for(length));
  truncate(0);
  columns_.resize(static_cast<std::size_t>(length));
  std::iota(columns_.begin(), columns_.end(), 0);
  data_.reserve(blocks.size());
  blocks_.assign(blocks.begin(), blocks.end());
  for (const BlockRef& block : blocks) data_.push_back(block.data());
  length_ = length;
  declared_ = rope_length;
}

void KvCache::replace(std::int64_t index, BlockRef block) {
  LINNET_CHECK((index + 1) * kBlockPositions <= length_);
  data_[static_cast<std::size_t>(index)] = block.data();
  blocks_[static_cast<std::size_t>(index)] = std::move(block);
}

bool KvCache::must_copy_last() const {
  return length_ % kBlockPositions != 0 &&
         blocks_[static_cast<std::size_t>(length_ / kBlockPositions)].is_shared();
}

std::int64_t KvCache::blocks_wanted(std::int64_t count) const {
  if (count == 0) return 0;
  const auto held = static_cast<std::int64_t>(blocks_.size());
  return std::max(blocks_for(length_ + count) - held, std::int64_t{0}) + (must_copy_last() ? 1 : 0);
}

void KvCache::reserve(std::int64_t count) {
  if (count == 0) return;
  const auto wanted = static_cast<std::size_t>(blocks_for(length_ + count));
  blocks_.reserve(wanted), data_.reserve(wanted);
  columns_.resize(static_cast<std::size_t>(length_ + count));
  if (must_copy_last()) {
    const auto last = static_cast<std::size_t>(length_ / kBlockPositions);
    BlockRef own = pool_->take();
    std::memcpy(own.data(), data_[last], static_cast<std::size_t>(pool_->block_bytes()));
    data_[last] = own.data();
    blocks_[last] = std::move(own);
  }
  while (blocks_.size() < wanted) {
    blocks_.push_back(pool_->take());
    data_.push_back(blocks_.back().data());
  }
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
  const auto kept = static_cast<std::size_t>(blocks_for(length));
  if (blocks_.size() > kept) blocks_.resize(kept), data_.resize(kept);
}

}  // namespace linnet
