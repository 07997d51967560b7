// linnet classify
#pragma once

#include "cli/command.h"

namespace linnet {

Command make_classify_command();

}  // namespace linnet
