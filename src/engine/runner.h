// Runs what the scheduler planned: one pass of the model over the rows of many sequences.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/sequence.h"
#include "model/model.h"

namespace linnet {

// The logits that a pass gives of one sequence.
struct SequenceLogits {
  PlannedRows planned;
  std::int64_t first = 0;         // index in the sequence
  std::span<const float> logits;  // [rows, vocab], perhaps none
  std::span<const float> hidden;  // [rows, hidden] where the sequence wants them
};

class Runner {
 public:
  explicit Runner(const Model& model) : model_(model) {}

  // The caches then hold the rows. The logits live until the next call. Errors: those of
  // Model::run; the caches are then as before.
  std::vector<SequenceLogits> run(std::span<const PlannedRows> plan,
                                  const std::atomic<bool>* cancel);

 private:
  const Model& model_;
  std::vector<float> logits_, hidden_;
  std::vector<std::int32_t> tokens_, positions_, selected_;
  std::vector<SequenceRows> sequences_;
};

}  // namespace linnet
