// What `linnet inspect` shows of a summary, for people and for programs.
#pragma once

#include "base/json.h"
#include "cli/model_summary.h"
#include "cli/output.h"

namespace linnet {

struct InspectParts {
  bool tensors = false;
  bool program = false;
  bool lowered = false;
  bool show_template = false;
};

// The template alone, when it is asked for, so that it can be piped on.
void print_inspection(Output& out, const ModelSummary& summary, const InspectParts& parts,
                      const MemoryEstimate& memory);
Json inspection_record(const ModelSummary& summary, const InspectParts& parts,
                       const MemoryEstimate& memory);

}  // namespace linnet
