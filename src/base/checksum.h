// A fast 64-bit checksum against damage of files: not against forgery.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace linnet {

// Eight sums of 64 bits take turns over the words of the bytes, each multiplied by the key of its
// place (after Collet, "XXH3"), so that a processor with vectors keeps up with the memory. The same
// value on every machine.
std::uint64_t checksum64(Bytes bytes);

}  // namespace linnet
