#include "cli/private_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "base/error.h"

namespace linnet {
namespace {

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::filesystem::path& target) : target_(target) {
    name_ = target.string() + ".XXXXXX";
    fd_ = ::mkstemp(name_.data());  // mode 0600
    if (fd_ < 0) fail_io("cannot write " + target.string());
  }
  ~TemporaryFile() {
    if (fd_ >= 0) ::close(fd_);
    if (!name_.empty()) ::unlink(name_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(std::string_view content) {
    while (!content.empty()) {
      const ssize_t put = ::write(fd_, content.data(), content.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) fail_io("cannot write " + target_.string());
      content.remove_prefix(static_cast<std::size_t>(put));
    }
  }

  void commit() {
    const bool synced = ::fsync(fd_) == 0;
    const bool closed = ::close(std::exchange(fd_, -1)) == 0;
    if (!synced || !closed || ::rename(name_.c_str(), target_.c_str()) != 0) {
      fail_io("cannot write " + target_.string());
    }
    name_.clear();
  }

 private:
  std::filesystem::path target_;
  std::string name_;
  int fd_ = -1;
};

}  // namespace

void write_private_file(const std::filesystem::path& given, std::string_view content) {
  std::error_code error;
  const auto status = std::filesystem::status(given, error);
  // The rename would put a plain file in the place of a device or a pipe.
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    fail(ErrorCode::io, "cannot write " + given.string() + ": not a regular file");
  }
  // And in that of a link, rather than where it leads.
  const auto target = std::filesystem::canonical(given, error);
  const std::filesystem::path path = error ? given : target;
  TemporaryFile file(path);
  file.write(content);
  file.commit();
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  ::fsync(directory);
  ::close(directory);
}

}  // namespace linnet
