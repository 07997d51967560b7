// From the rope section of a config to the table of frequencies that a program carries.
#pragma once

#include "model/config.h"
#include "program/program.h"

namespace linnet {

// Error{invalid_argument} for parameters that give frequencies without sense.
RopeTable make_rope_table(const ModelConfig& config);

}  // namespace linnet
