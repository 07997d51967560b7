// A stretch of a program as a program of its own, so that a model can be walked layer by layer with
// the weights of one layer in memory.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "program/program.h"
#include "tensor/tensor.h"

namespace linnet {

struct ProgramPart {
  std::shared_ptr<const Program> program;  // its embedding step takes the rows that come in
  std::vector<WeightId> weights;           // of the whole program, kNone for the unused table
  std::vector<ValueId> values;             // of the whole program, for each value of this one
};

// Layer `layer` of a decoder: from its hidden state to the next one.
ProgramPart layer_part(const Program& whole, std::int32_t layer);
// From the last layer's hidden state to what the head's linear reads; nothing beyond it.
ProgramPart tail_part(const Program& whole);

// The linear steps of a part (by the whole program's ids) that read one value, and how factors on
// that value's columns can be taken out again before it.
struct LinearGroup {
  ValueId input = kNone;           // of the whole program
  std::vector<WeightId> matrices;  // [outputs, width] each
  WeightId scale = kNone;          // of the norm that makes the input: its columns
  WeightId rows = kNone;           // the linear whose result is multiplied into the input: its rows
  WeightId row_bias = kNone;       // and its bias, where it has one
  bool can_be_smoothed() const { return scale != kNone || rows != kNone; }
};
// In the order of the program. The tail's group is that of the head.
std::vector<LinearGroup> linear_groups(const Program& whole, std::int32_t layer);

}  // namespace linnet
