// Memory for the blocks of caches. A block belongs to whoever holds a BlockRef to it: several
// sequences with the same beginning, and a prefix cache, hold the same ones. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/memory_account.h"

namespace linnet {

class BlockPool;

class BlockRef {
 public:
  BlockRef() = default;
  BlockRef(const BlockRef& other) noexcept;
  BlockRef(BlockRef&& other) noexcept;
  BlockRef& operator=(BlockRef other) noexcept;
  ~BlockRef();

  std::byte* data() const;
  bool is_shared() const;  // others hold it too
  bool same_block(const BlockRef& other) const { return block_ == other.block_; }
  explicit operator bool() const { return block_ != nullptr; }

 private:
  friend class BlockPool;
  struct Block;
  explicit BlockRef(Block* block) : block_(block) {}
  Block* block_ = nullptr;
};

class BlockPool : public std::enable_shared_from_this<BlockPool> {
 public:
  // Memory comes for so many blocks at once: a large piece lies in large pages, without which the
  // look-up of addresses takes longer than the reading. What is not written takes no memory yet.
  static constexpr std::int64_t kSlabBlocks = 8;

  // At most `capacity` blocks are given out at a time; 0: as many as there is memory for.
  static std::shared_ptr<BlockPool> make(std::int64_t block_bytes, std::int64_t capacity = 0);
  ~BlockPool();

  // An uninitialised block. Error{out_of_memory} when capacity or memory is used up.
  BlockRef take();
  std::int64_t block_bytes() const { return block_bytes_; }
  std::int64_t capacity() const { return capacity_; }
  std::int64_t used() const;  // blocks that somebody holds

 private:
  friend class BlockRef;
  struct Slab;
  BlockPool(std::int64_t block_bytes, std::int64_t capacity);
  void put_back(BlockRef::Block* block) noexcept;

  const std::int64_t block_bytes_, capacity_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Slab>> slabs_;
  std::int64_t used_ = 0;
};

}  // namespace linnet
