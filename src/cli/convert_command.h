// linnet convert: a model from one file format into another.
#pragma once

#include "cli/command.h"

namespace linnet {

Command make_convert_command();

}  // namespace linnet
