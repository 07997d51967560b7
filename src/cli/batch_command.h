// `linnet batch`: many requests from a file of JSON lines, answered together.
#pragma once

#include "cli/command.h"

namespace linnet {

Command make_batch_command();

}  // namespace linnet
