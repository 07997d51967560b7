// Cases about choosing tokens: seeded sampling, greedy generation, logits processors.
#pragma once

#include <span>
#include <vector>

#include "golden_runner/models_suite.h"
#include "model/model.h"

namespace golden {

// Each returns false when the kind is not its own.
bool run_sampling_case(const CaseContext& context);   // sample, generate, processor...
bool run_processor_case(const CaseContext& context);  // processor, processor-count
bool run_search_case(const CaseContext& context);     // generate, by beams, contrast or drafts

// The logits of every row from `first` on, one after the other, of a sequence that starts cold.
std::vector<float> sequence_logits(const linnet::Model& model, std::span<const std::int32_t> ids,
                                   std::size_t first);

}  // namespace golden
