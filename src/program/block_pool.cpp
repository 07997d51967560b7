#include "program/block_pool.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"

namespace linnet {

struct BlockRef::Block {
  std::byte* data = nullptr;
  BlockPool::Slab* slab = nullptr;
  std::atomic<std::int64_t> holders{0};
};

struct BlockPool::Slab {
  Slab(BlockPool& owner, std::int64_t block_bytes)
      : pool(&owner),
        memory(static_cast<std::uint64_t>(kSlabBlocks * block_bytes), MemoryAccount::cache()) {
    for (std::int64_t i = 0; i < kSlabBlocks; ++i) {
      blocks[static_cast<std::size_t>(i)].data = memory.data() + i * block_bytes;
      blocks[static_cast<std::size_t>(i)].slab = this;
    }
  }
  BlockPool* pool;
  Buffer memory;
  std::array<BlockRef::Block, static_cast<std::size_t>(kSlabBlocks)> blocks;
  std::int64_t used = 0;
  // A slab in use keeps its pool: a block may outlive whoever made the pool.
  std::shared_ptr<BlockPool> keep;
};

BlockRef::BlockRef(const BlockRef& other) noexcept : block_(other.block_) {
  if (block_ != nullptr) block_->holders.fetch_add(1, std::memory_order_relaxed);
}

BlockRef::BlockRef(BlockRef&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}

BlockRef& BlockRef::operator=(BlockRef other) noexcept {
  std::swap(block_, other.block_);
  return *this;
}

BlockRef::~BlockRef() {
  if (block_ == nullptr) return;
  if (block_->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    block_->slab->pool->put_back(block_);
  }
}

std::byte* BlockRef::data() const { return block_->data; }

bool BlockRef::is_shared() const { return block_->holders.load(std::memory_order_acquire) > 1; }

std::shared_ptr<BlockPool> BlockPool::make(std::int64_t block_bytes, std::int64_t capacity) {
  LINNET_CHECK(block_bytes >= 0 && capacity >= 0);
  return std::shared_ptr<BlockPool>(new BlockPool(block_bytes, capacity));
}

BlockPool::BlockPool(std::int64_t block_bytes, std::int64_t capacity)
    : block_bytes_(block_bytes), capacity_(capacity) {}

BlockPool::~BlockPool() = default;

BlockRef BlockPool::take() {
  const std::lock_guard lock(mutex_);
  if (capacity_ > 0 && used_ >= capacity_) {
    fail(ErrorCode::out_of_memory, fmt::format("all {} blocks of the cache are in use", capacity_));
  }
  auto slab = std::find_if(slabs_.begin(), slabs_.end(),
                           [](const auto& each) { return each->used < kSlabBlocks; });
  if (slab == slabs_.end()) {
    slabs_.reserve(slabs_.size() + 1);
    slabs_.push_back(std::make_unique<Slab>(*this, block_bytes_));
    slab = slabs_.end() - 1;
  }
  if ((*slab)->used++ == 0) (*slab)->keep = shared_from_this();
  ++used_;
  for (BlockRef::Block& block : (*slab)->blocks) {
    if (block.holders.load(std::memory_order_acquire) != 0) continue;
    block.holders.store(1, std::memory_order_relaxed);
    return BlockRef(&block);
  }
  LINNET_CHECK(false, "a slab with room has no free block");
  return {};
}

std::int64_t BlockPool::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

void BlockPool::put_back(BlockRef::Block* block) noexcept {
  std::shared_ptr<BlockPool> keep;  // the pool may end with this slab, after the lock
  std::unique_ptr<Slab> empty;
  const std::lock_guard lock(mutex_);
  --used_;
  Slab* slab = block->slab;
  if (--slab->used > 0) return;
  keep = std::move(slab->keep);
  const auto at = std::find_if(slabs_.begin(), slabs_.end(),
                               [&](const auto& each) { return each.get() == slab; });
  empty = std::move(*at);
  slabs_.erase(at);
}

}  // namespace linnet
