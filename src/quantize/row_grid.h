// The values that the weights of one row may take, once its scales are chosen.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "quantize/round_rows.h"

namespace linnet {

class RowGrid {
 public:
  // Chooses the scales, and the nearest code for every weight.
  RowGrid(RowFormat format, std::span<const float> row, std::span<const float> importance,
          RoundedRow& out);

  // Takes the code nearest to `target` for weight k, and returns its value. Fastest for ascending
  // k.
  float place(std::size_t k, float target);

 private:
  void enter_group(std::size_t group);

  RowFormat format_;
  RoundedRow* out_;
  std::size_t group_size_;
  std::size_t group_ = static_cast<std::size_t>(-1);
  std::array<float, 16> levels_{};  // of the group, by code
};

}  // namespace linnet
