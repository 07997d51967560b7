// linnet parse: a model's output taken apart, as a JSON record.
#pragma once

#include "cli/command.h"

namespace linnet {

Command make_parse_command();

}  // namespace linnet
