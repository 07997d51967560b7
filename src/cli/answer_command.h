// linnet answer
#pragma once

#include "cli/command.h"

namespace linnet {

Command make_answer_command();

}  // namespace linnet
