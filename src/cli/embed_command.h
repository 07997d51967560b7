// linnet embed
#pragma once

#include "cli/command.h"

namespace linnet {

Command make_embed_command();

}  // namespace linnet
