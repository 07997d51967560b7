// linnet pack: a model with its weights as the native lane holds them, for a quick start.
#pragma once

#include "cli/command.h"

namespace linnet {

Command make_pack_command();

}  // namespace linnet
