// `linnet bench tokenizer`.
#pragma once

#include "cli/bench_options.h"
#include "cli/command.h"

namespace linnet {

int bench_tokenizer(CommandContext& context, const BenchOptions& options);

}  // namespace linnet
