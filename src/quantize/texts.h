// The texts that come with Linnet: prose and tickets in several languages, chats, tool calls, code.
// Both were written for this project and have no line in common, so that what was calibrated on one
// may be measured on the other.
#pragma once

#include <string_view>

namespace linnet {

std::string_view calibration_text();
std::string_view evaluation_text();

}  // namespace linnet
