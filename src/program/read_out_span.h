// The end of a run: rows of its output leave the lane's memory.
#pragma once

#include <cstdint>

#include "base/telemetry.h"

namespace linnet {

// The span to_binary, with shape, dtype and byte_size.
TelemetrySpan read_out_span(std::int64_t rows, std::int64_t width);

}  // namespace linnet
