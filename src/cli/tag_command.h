// linnet tag
#pragma once

#include "cli/command.h"

namespace linnet {

Command make_tag_command();

}  // namespace linnet
