// Where the rows of a batch stand in their sequences, and their rotations.
#pragma once

#include <cstdint>
#include <vector>

#include "program/lane.h"

namespace linnet {

class PlacedRows {
 public:
  // The caches have room for the rows (KvCache::reserve); their columns are written here.
  PlacedRows(const Program& program, const Batch& batch);

  struct Row {
    KvCache* cache = nullptr;
    std::int64_t index = 0;  // its position in the cache
    std::size_t sequence = 0;
  };
  std::int64_t count() const { return static_cast<std::int64_t>(rows_.size()); }
  const Row& row(std::int64_t row) const { return rows_[static_cast<std::size_t>(row)]; }
  // cos and sin of every pair, [half] each, of rope `rope` for a row.
  const float* cosine(std::int32_t rope, std::int64_t row) const;
  const float* sine(std::int32_t rope, std::int64_t row) const;
  // The oldest position that a row sees through a window of that many columns; 0: all.
  std::int64_t first_position(std::int64_t row, std::int64_t window) const;
  // The rows now count in their caches; nothing may fail afterwards.
  void commit();

 private:
  struct Rotations {
    std::int64_t half = 0;
    std::vector<float> angles;  // [rows, 2, half]
  };
  Rotations rotations(const RopeTable& table, const Batch& batch) const;

  std::vector<Row> rows_;
  std::vector<SequenceRows> sequences_;
  std::vector<std::int64_t> rope_lengths_;  // [sequences]
  std::vector<Rotations> ropes_;
};

}  // namespace linnet
