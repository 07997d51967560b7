// What the linears of a model read while it computes a text: the second moments of their inputs,
// gathered layer by layer.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/memory_account.h"
#include "base/thread_pool.h"
#include "quantize/program_part.h"

namespace linnet {

// Of a value of `width` columns: mean of x_i x_j, the upper half of [width, width].
struct Moments {
  std::int64_t width = 0;
  Buffer gram;

  float* at(std::int64_t row) { return gram.as<float>().data() + row * width; }
  // Mean squares: the diagonal.
  std::vector<float> squares() const;
};

struct HiddenRows {
  std::vector<std::vector<float>> windows;  // [rows, hidden] each
};

// Runs every window through the part, replacing it by the part's output; `weights` in the order of
// part.weights. Moments by value of the whole program, for the inputs of `groups`. `on_progress` is
// called with 0 to 1 before each window, and may throw.
std::map<ValueId, Moments> run_part(const ProgramPart& part, std::vector<Tensor> weights,
                                    const std::vector<LinearGroup>& groups, HiddenRows& hidden,
                                    const std::shared_ptr<ThreadPool>& pool,
                                    const std::function<void(double)>& on_progress);

}  // namespace linnet
