// What the engine adds to the model: many streams at once, a long prompt among them, a prompt that
// begins like an earlier one, guesses that are verified. Everything is a ratio within one run.
#pragma once

#include "cli/bench_options.h"
#include "cli/command.h"

namespace linnet {

int bench_engine(CommandContext& context, const BenchOptions& options);

}  // namespace linnet
