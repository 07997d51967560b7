#include "base/atomic_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <utility>

#include "base/error.h"

namespace linnet {

AtomicFile::AtomicFile(const std::filesystem::path& target) : target_(target) {
  name_ = target.string() + ".XXXXXX";
  fd_ = ::mkstemp(name_.data());  // mode 0600
  if (fd_ < 0) fail_to_write();
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!committed_) ::unlink(name_.c_str());
}

void AtomicFile::reserve(std::uint64_t bytes) {
  if (bytes == 0 || bytes > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max())) return;
  if (::fallocate(fd_, 0, 0, static_cast<off_t>(bytes)) == 0) return;
  if (errno != ENOSPC && errno != EDQUOT && errno != EFBIG) return;
  fail_io(fmt::format("cannot write {}: it needs {} bytes", target_.string(), bytes));
}

void AtomicFile::write(Bytes content) {
  while (!content.empty()) {
    const ssize_t put = ::write(fd_, content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail_to_write();
    size_ += static_cast<std::uint64_t>(put);
    content = content.subspan(static_cast<std::size_t>(put));
  }
}

void AtomicFile::write_zeros(std::uint64_t count) {
  static constexpr std::array<std::byte, 4096> kZeros{};
  while (count > 0) {
    const std::uint64_t piece = std::min<std::uint64_t>(count, kZeros.size());
    write(Bytes(kZeros).first(piece));
    count -= piece;
  }
}

void AtomicFile::commit(unsigned mode) {
  const bool ready = ::ftruncate(fd_, static_cast<off_t>(size_)) == 0 && ::fchmod(fd_, mode) == 0 &&
                     ::fsync(fd_) == 0;
  if (!ready || ::close(std::exchange(fd_, -1)) != 0) fail_to_write();
  if (::rename(name_.c_str(), target_.c_str()) != 0) fail_to_write();
  committed_ = true;
  sync_folder(target_.has_parent_path() ? target_.parent_path() : ".");
}

void AtomicFile::fail_to_write() const {
  fail_io(fmt::format("cannot write {}", target_.string()));
}

void sync_folder(const std::filesystem::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

}  // namespace linnet
