// Whether a path is there. Never throws: what cannot be looked at (no permission, a name too long)
// counts as absent, and opening it tells why.
#pragma once

#include <filesystem>

namespace linnet {

inline bool is_there(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

}  // namespace linnet
