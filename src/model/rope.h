// From the rope section of a config to the table of frequencies that a program carries.
#pragma once

#include "model/config.h"
#include "program/program.h"

namespace linnet {

// Error{invalid_argument} for parameters that give frequencies without sense.
RopeTable make_rope_table(const ModelConfig& config);

// The same model with a context `factor` times as long by YaRN (Peng et al. 2023), as the cards of
// models recommend that were trained for it: shorter texts change a little too.
// Error{invalid_argument} for a factor that is not above 1 or gives more positions than Linnet has;
// unsupported for a model whose rotations are scaled already.
void stretch_context(ModelConfig& config, double factor);

}  // namespace linnet
