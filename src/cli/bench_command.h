#pragma once

#include "cli/command.h"

namespace linnet {

// `linnet bench SUBJECT`; a subject is a row of the table in bench_command.cpp.
Command make_bench_command();

}  // namespace linnet
