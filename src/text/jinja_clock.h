// strftime with English names, whatever the locale of the process.
#pragma once

#include <string>
#include <string_view>

#include "text/jinja.h"

namespace linnet::jinja {

CivilTime local_time();
// Codes that are not known stay as they are, as C libraries leave them.
std::string format_time(const CivilTime& time, std::string_view format);

}  // namespace linnet::jinja
