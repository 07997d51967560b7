// `linnet bench sampler`: what choosing one token of a large vocabulary costs, by processor.
#pragma once

#include "cli/bench_options.h"
#include "cli/command.h"

namespace linnet {

int bench_sampler(CommandContext& context, const BenchOptions& options);

}  // namespace linnet
