// Sizes as people write them.
#pragma once

#include <cstdint>
#include <string>

#include "cli/options.h"

namespace linnet {

// "5GB" (thousands), "2GiB" (1024s), "4096"; KB to TB, B, upper or lower case. UsageError for
// anything else, for 0 and beyond 2^63 - 1.
std::uint64_t parse_byte_count(const std::string& text);
OptionSetter to_byte_count(std::uint64_t& target);

}  // namespace linnet
