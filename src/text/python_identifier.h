// Names of Python: letters, marks and digits of all scripts, in compatibility form (NFKC).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace linnet {

// The name at `at`, which moves behind it; nothing when there is none.
std::optional<std::string> read_python_identifier(std::string_view text, std::size_t& at);
// Words that cannot be names (if, None, ...).
bool is_python_keyword(std::string_view name);

}  // namespace linnet
