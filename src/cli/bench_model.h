// How fast a model runs: prompts, single tokens and passes over several rows, each as a share of
// the machine's two ceilings.
#pragma once

#include "cli/bench_options.h"
#include "cli/command.h"

namespace linnet {

int bench_model(CommandContext& context, const BenchOptions& options);

}  // namespace linnet
