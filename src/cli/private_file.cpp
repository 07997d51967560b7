#include "cli/private_file.h"

#include "base/error.h"
#include "base/file_map.h"

namespace linnet {
void write_private_file(const std::filesystem::path& given, std::string_view content) {
  std::error_code error;
  const auto status = std::filesystem::status(given, error);
  // The rename would put a plain file in the place of a device or a pipe.
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    fail(ErrorCode::io, "cannot write " + given.string() + ": not a regular file");
  }
  // And in that of a link, rather than where it leads.
  const auto target = std::filesystem::canonical(given, error);
  write_file_atomically(error ? given : target, as_bytes(content), 0600);
}

}  // namespace linnet
