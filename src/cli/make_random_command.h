// linnet make-random: a model of random weights, for measuring.
#pragma once

#include "cli/command.h"

namespace linnet {

Command make_make_random_command();

}  // namespace linnet
