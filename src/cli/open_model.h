// From --model and the other options of every command to an open model.
#pragma once

#include <filesystem>
#include <string>

#include "cli/command.h"
#include "engine/assistant.h"

namespace linnet {

// --model; without it smollm2 where it is in the cache, else tiny.
std::filesystem::path chosen_model(const GlobalOptions& globals);
OpenOptions open_options(const GlobalOptions& globals);
// Threads and lane.
LoadOptions load_options(const GlobalOptions& globals);

struct OpenedAssistant {
  Assistant assistant;
  std::string name;  // for people: what was asked for, or the last part of the path
  double load_seconds = 0;
};
// With a progress bar on a terminal.
OpenedAssistant open_assistant(const CommandContext& context);

}  // namespace linnet
