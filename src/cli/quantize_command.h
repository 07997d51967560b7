// `linnet quantize`: a model with rounded weights, calibrated on a text.
#pragma once

#include "cli/command.h"

namespace linnet {

Command make_quantize_command();

}  // namespace linnet
