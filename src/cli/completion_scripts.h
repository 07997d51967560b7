// Completion scripts for shells, made from the option tables.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace linnet {

std::string bash_completion(const std::vector<Command>& commands,
                            const std::vector<Option>& globals);
std::string zsh_completion(const std::vector<Command>& commands,
                           const std::vector<Option>& globals);
std::string fish_completion(const std::vector<Command>& commands,
                            const std::vector<Option>& globals);

}  // namespace linnet
