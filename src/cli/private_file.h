// Files that only their owner may read, from the first byte on.
#pragma once

#include <filesystem>
#include <string_view>

namespace linnet {

// Complete or absent, mode 0600. Error{io} or Error{not_found} naming the path.
void write_private_file(const std::filesystem::path& path, std::string_view content);

}  // namespace linnet
