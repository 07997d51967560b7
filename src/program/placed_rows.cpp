#include "program/placed_rows.h"

#include <algorithm>

namespace linnet {

PlacedRows::PlacedRows(const Program& program, const Batch& batch)
    : sequences_(batch.sequences.begin(), batch.sequences.end()) {
  rows_.reserve(static_cast<std::size_t>(batch.rows()));
  for (const SequenceRows& sequence : batch.sequences) {
    std::int64_t length = sequence.cache->rope_length();
    if (length == 0 && sequence.rows > 0) {
      const auto first = batch.positions.begin() + static_cast<std::ptrdiff_t>(rows_.size());
      length = *std::max_element(first, first + sequence.rows) + std::int64_t{1};
    }
    for (std::int64_t i = 0; i < sequence.rows; ++i) {
      const std::int64_t index = sequence.cache->length() + i;
      sequence.cache->column(index) =
          batch.columns.empty() ? static_cast<std::int32_t>(index) : batch.columns[rows_.size()];
      rows_.push_back({sequence.cache, index, rope_lengths_.size()});
    }
    rope_lengths_.push_back(length);
  }
  for (const RopeTable& table : program.ropes) ropes_.push_back(rotations(table, batch));
}

PlacedRows::Rotations PlacedRows::rotations(const RopeTable& table, const Batch& batch) const {
  Rotations out;
  out.half = static_cast<std::int64_t>(table.inverse_frequency.size());
  out.angles.resize(rows_.size() * 2 * table.inverse_frequency.size());
  std::vector<RopeTable> by_sequence;
  for (const std::int64_t length : rope_lengths_) {
    if (table.limit > 0) by_sequence.push_back(rope_table_for(table, length));
  }
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    float* angles = out.angles.data() + row * 2 * static_cast<std::size_t>(out.half);
    rotation(by_sequence.empty() ? table : by_sequence[rows_[row].sequence], batch.positions[row],
             angles, angles + out.half);
  }
  return out;
}

const float* PlacedRows::cosine(std::int32_t rope, std::int64_t row) const {
  const Rotations& rotations = ropes_[static_cast<std::size_t>(rope)];
  return rotations.angles.data() + row * 2 * rotations.half;
}

const float* PlacedRows::sine(std::int32_t rope, std::int64_t row) const {
  return cosine(rope, row) + ropes_[static_cast<std::size_t>(rope)].half;
}

std::int64_t PlacedRows::first_position(std::int64_t row, std::int64_t window) const {
  if (window == 0) return 0;
  const Row& place = this->row(row);
  std::int64_t first = place.index;
  const std::int64_t oldest = place.cache->column(place.index) - window + 1;
  while (first > 0 && place.cache->column(first - 1) >= oldest) --first;
  return first;
}

void PlacedRows::commit() {
  for (std::size_t i = 0; i < sequences_.size(); ++i) {
    sequences_[i].cache->keep_first_call(rope_lengths_[i]);
    sequences_[i].cache->commit(sequences_[i].rows);
  }
}

}  // namespace linnet
