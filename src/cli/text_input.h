// Text that a command takes from its argument, from standard input, or from a file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "cli/terminal.h"

namespace linnet {

// Refuses what is not UTF-8: Error{invalid_argument} naming `name` and the byte.
void require_utf8(const std::string& text, const std::string& name);

// The argument if there is one, else standard input to its end. On a terminal without an argument:
// UsageError that says what is missing. One newline at the end of standard input is dropped.
std::string argument_or_input(const std::optional<std::string>& argument, const Terminal& terminal,
                              const std::string& what);

// The texts of files, one after the other with a newline between; `fallback` for none. All valid
// UTF-8.
std::string joined_texts(const std::vector<std::string>& paths, std::string_view fallback);

// JSON of a file, or of standard input for "-" and no path at all.
Json json_input(const std::optional<std::string>& path, const Terminal& terminal,
                const std::string& what);

}  // namespace linnet
