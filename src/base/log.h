// The one logger. Lines go to standard error, from the level set upward (warn at first), with
// control characters escaped so that no content can forge a line.
#pragma once

#include <string>
#include <string_view>

namespace linnet {

enum class LogLevel { debug, info, warn, error, off };

// Throws Error{invalid_argument} for an unknown name.
LogLevel log_level_from_name(std::string_view name);
void set_log_level(LogLevel level);
void log(LogLevel level, std::string_view message);
inline void log_debug(std::string_view message) { log(LogLevel::debug, message); }
inline void log_info(std::string_view message) { log(LogLevel::info, message); }
inline void log_warn(std::string_view message) { log(LogLevel::warn, message); }
inline void log_error(std::string_view message) { log(LogLevel::error, message); }

// Control characters as \n, \t or \x1b; everything else unchanged.
std::string escape_control(std::string_view text);

}  // namespace linnet
