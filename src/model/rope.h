// From the rope section of a config to the table of frequencies that a program carries.
#pragma once

#include "model/config.h"
#include "program/program.h"

namespace linnet {

// Error{unsupported} naming a rope type that is not built, invalid_argument for wrong parameters.
RopeTable make_rope_table(const ModelConfig& config);

}  // namespace linnet
