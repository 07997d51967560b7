// Keys and values of one sequence, in blocks of 64 positions. Keys are stored after rotation. How a
// block is laid out inside is the lane's own affair; key() and value() are the reference lane's. A
// copy is the same sequence again and shares all blocks; whichever of the two is first to add to
// the last block, when it is part full, gets one of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "program/block_pool.h"

namespace linnet {

class KvCache {
 public:
  static constexpr std::int64_t kBlockPositions = 64;

  // Blocks of a lane's own layout; those of `pool`.
  explicit KvCache(std::shared_ptr<BlockPool> pool) : KvCache(std::move(pool), 0) {}
  // f32 blocks of [layers, 2, kBlockPositions, kv_width], as the reference lane has them.
  static KvCache plain(std::shared_ptr<BlockPool> pool, std::int64_t kv_width) {
    return {std::move(pool), kv_width};
  }
  static std::int64_t plain_block_bytes(std::int64_t layers, std::int64_t kv_width) {
    return layers * 2 * kBlockPositions * kv_width * static_cast<std::int64_t>(sizeof(float));
  }
  static std::int64_t blocks_for(std::int64_t positions) {
    return (positions + kBlockPositions - 1) / kBlockPositions;
  }

  std::int64_t length() const { return length_; }  // positions held
  std::int64_t kv_width() const { return kv_width_; }
  std::int64_t bytes_per_block() const { return pool_->block_bytes(); }
  std::byte* block(std::int64_t index) { return data_[static_cast<std::size_t>(index)]; }

  // The blocks that hold positions; the last one may be part full.
  std::span<const BlockRef> blocks() const { return blocks_; }
  // An empty cache becomes that of a sequence whose first `length` positions are in these blocks of
  // its own pool and layout, computed as part of a sequence of `rope_length` (see below).
  void begin_with(std::span<const BlockRef> blocks, std::int64_t length, std::int64_t rope_length);
  // Block `index`, which is full, is replaced by one that holds the same.
  void replace(std::int64_t index, BlockRef block);
  // Blocks that reserve(count) would take from the pool.
  std::int64_t blocks_wanted(std::int64_t count) const;

  // Makes room for `count` more positions; they count only after commit(). Errors: out_of_memory.
  void reserve(std::int64_t count);
  void commit(std::int64_t count) { length_ += count; }

  // How long the sequence is taken to be by rotations that depend on it (RopeTable::limit): as
  // declared, else 1 + the largest position of the first call; 0 before it. It stays while the
  // cache holds anything, for its keys were rotated by it; so a sequence computed in pieces must
  // declare its length to get the bits of one that is computed at once.
  std::int64_t rope_length() const { return declared_ != 0 ? declared_ : first_call_; }
  // Before the first call, or after truncate(0), which keeps the declaration.
  void declare_length(std::int64_t positions);
  // By the lane that ran the first call.
  void keep_first_call(std::int64_t positions) {
    if (length_ == 0) first_call_ = positions;
  }

  // The column that a position had in the caller's padded row: where masked columns were left out,
  // sliding windows still count them. Without holes column = position.
  std::int32_t& column(std::int64_t position) {
    return columns_[static_cast<std::size_t>(position)];
  }
  // Of the reference lane's layout.
  bool has_plain_blocks() const { return kv_width_ != 0; }
  // An empty cache becomes that of the same sequence in this cache's layout; its keys and values
  // are to be filled in.
  void take_place_of(const KvCache& other);
  // Forgets everything from `length` on.
  void truncate(std::int64_t length);

  // [kv_width] floats at `position` (which may be reserved and not committed yet).
  float* key(std::int64_t layer, std::int64_t position) { return at(layer, position, 0); }
  float* value(std::int64_t layer, std::int64_t position) { return at(layer, position, 1); }

 private:
  float* at(std::int64_t layer, std::int64_t position, std::int64_t part) {
    auto* floats = reinterpret_cast<float*>(block(position / kBlockPositions));
    return floats + ((layer * 2 + part) * kBlockPositions + position % kBlockPositions) * kv_width_;
  }

  KvCache(std::shared_ptr<BlockPool> pool, std::int64_t kv_width)
      : pool_(std::move(pool)), kv_width_(kv_width) {}

  bool must_copy_last() const;

  std::shared_ptr<BlockPool> pool_;
  std::int64_t kv_width_ = 0;
  std::int64_t length_ = 0;
  std::int64_t declared_ = 0;
  std::int64_t first_call_ = 0;
  std::vector<std::int32_t> columns_;
  std::vector<BlockRef> blocks_;
  std::vector<std::byte*> data_;  // of each of them
};

}  // namespace linnet
