// Cases about element types: dequantize and quantize (blocks), convert (bf16, f16).
#pragma once

#include "golden_runner/models_suite.h"

namespace golden {

// Returns false when the kind is not its own.
bool run_blocks_case(const CaseContext& context);

}  // namespace golden
