// What the steps of a program cost, before any of them runs: operations, and bytes that have to
// come from memory. The floor under every measured time.
#pragma once

#include <cstdint>
#include <vector>

#include "formats/model_files.h"
#include "program/program.h"

namespace linnet {

// Of one step for one row (token), with `context` positions in the cache, the row's among them. A
// multiplication and its addition are two operations; sin, cos and exp count as one.
struct StepCost {
  std::uint64_t operations = 0;
  std::uint64_t weight_bytes = 0;  // as the files have them; of a table, one row
  std::uint64_t cache_bytes = 0;   // keys and values in f32
};

// One entry for each step. A weight that no file has counts `default_dtype`.
std::vector<StepCost> program_costs(const Program& program, const ModelFiles& files,
                                    DType default_dtype, std::int64_t context);
StepCost total_cost(const std::vector<StepCost>& costs);

}  // namespace linnet
