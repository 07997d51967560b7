// The pages that --help prints, made from the tables.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace linnet {

std::string program_help(const std::vector<Command>& commands, const std::vector<Option>& globals,
                         int width);
std::string command_help(const Command& command, const std::vector<Option>& globals, int width);

// `text` in lines of at most `width` columns, each after `indent` spaces; a line break in the text
// stays. The first line has no indent.
std::string wrapped(const std::string& text, int indent, int width);

}  // namespace linnet
