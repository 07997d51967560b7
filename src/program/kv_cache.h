// Keys and values of one sequence, in blocks of 64 positions. Keys are stored after rotation.
#pragma once

#include <cstdint>
#include <vector>

#include "base/memory_account.h"

namespace linnet {

class KvCache {
 public:
  static constexpr std::int64_t kBlockPositions = 64;

  KvCache(std::int64_t layers, std::int64_t kv_width) : layers_(layers), kv_width_(kv_width) {}

  std::int64_t length() const { return length_; }  // positions held
  std::int64_t kv_width() const { return kv_width_; }
  std::int64_t bytes_per_block() const;

  // Makes room for `count` more positions; they count only after commit().
  void reserve(std::int64_t count);
  void commit(std::int64_t count) { length_ += count; }

  // The column that a position had in the caller's padded row: where masked columns were left out,
  // sliding windows still count them. Without holes column = position.
  std::int32_t& column(std::int64_t position) {
    return columns_[static_cast<std::size_t>(position)];
  }
  // Forgets everything from `length` on.
  void truncate(std::int64_t length);

  // [kv_width] floats at `position` (which may be reserved and not committed yet).
  float* key(std::int64_t layer, std::int64_t position) { return at(layer, position, 0); }
  float* value(std::int64_t layer, std::int64_t position) { return at(layer, position, 1); }

 private:
  float* at(std::int64_t layer, std::int64_t position, std::int64_t part) {
    float* block = blocks_[static_cast<std::size_t>(position / kBlockPositions)].as<float>().data();
    return block + ((layer * 2 + part) * kBlockPositions + position % kBlockPositions) * kv_width_;
  }

  std::int64_t layers_;
  std::int64_t kv_width_;
  std::int64_t length_ = 0;
  std::vector<std::int32_t> columns_;
  std::vector<Buffer> blocks_;  // each [layers, 2, kBlockPositions, kv_width]
};

}  // namespace linnet
