// `linnet eval`: how well a model predicts a text, and how far another precision of it is away.
#pragma once

#include "cli/command.h"

namespace linnet {

Command make_eval_command();

}  // namespace linnet
