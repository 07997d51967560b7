// linnet verify: a model against reference values that were computed elsewhere.
#pragma once

#include "cli/command.h"

namespace linnet {

Command make_verify_command();

}  // namespace linnet
