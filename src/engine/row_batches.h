// Runs many inputs of different lengths through a model. They are taken in the caller's order and
// put into batches by their number of rows alone: rows are ragged, so nothing is gained by sorting
// them by length. What comes out for an input has the same bits alone and in any company.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "model/model.h"
#include "text/tokenizer_data.h"

namespace linnet {

struct BatchLimits {
  std::int64_t inputs = 32;
  // Also the length of the pieces in which a longer input is computed (with a cache). Memory for
  // activations grows with it.
  std::int64_t rows = 1024;
};

struct RowInput {
  std::span<const TokenId> ids;
  std::optional<std::int64_t> row;  // the only one whose output is wanted; absent: all
};

// Gets the next wanted rows of one input, [rows, width] with the width of the model's output. The
// rows of an input come in their order, in one call or several; those of an empty input never.
using RowSink = std::function<void(std::size_t input, std::span<const float> rows)>;

// Errors: cancelled when `cancel` becomes true; invalid_argument for an input longer than the
// model's context, an id outside of the vocabulary, limits below 1; what the sink throws.
void run_in_batches(const Model& model, std::span<const RowInput> inputs, const BatchLimits& limits,
                    const RowSink& sink, const std::atomic<bool>* cancel = nullptr);

// Numbers in a row of the model's output: labels, 2, vocab or hidden.
std::int64_t output_width(const Model& model);

}  // namespace linnet
