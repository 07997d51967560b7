#include "base/file_map.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/atomic_file.h"
#include "base/error.h"

namespace linnet {
namespace {

class FileHandle {
 public:
  FileHandle(const std::filesystem::path& path, int flags, int mode = 0)
      : fd_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {}
  ~FileHandle() { close(); }
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;
  int get() const { return fd_; }
  bool close() {
    const int fd = std::exchange(fd_, -1);
    return fd < 0 || ::close(fd) == 0;
  }

 private:
  int fd_;
};

std::size_t regular_file_size(int fd, const std::filesystem::path& path) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) fail_io(path.string());
  if (!S_ISREG(info.st_mode)) {
    fail(ErrorCode::io, fmt::format("{}: not a regular file{}", path.string(),
                                    S_ISDIR(info.st_mode) ? " (it is a folder)" : ""));
  }
  return static_cast<std::size_t>(info.st_size);
}

void read_fully(int fd, std::byte* target, std::size_t size, const std::filesystem::path& path) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(fd, target + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_io(path.string());
    if (got == 0) {
      fail(ErrorCode::io,
           fmt::format("{}: the file became shorter while it was read ({} of {} bytes)",
                       path.string(), done, size));
    }
    done += static_cast<std::size_t>(got);
  }
}

}  // namespace

std::shared_ptr<const FileMap> FileMap::open(const std::filesystem::path& path, FileAccess access) {
  // O_NONBLOCK: a FIFO must be refused, not waited for.
  FileHandle file(path, O_RDONLY | O_NONBLOCK);
  if (file.get() < 0) fail_io(path.string());
  const std::size_t size = regular_file_size(file.get(), path);
  std::shared_ptr<FileMap> map(new FileMap());
  map->path_ = path;
  map->access_ = access;
  if (size == 0) return map;
  if (access == FileAccess::map) {
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (address == MAP_FAILED) fail_io(fmt::format("cannot map {}", path.string()));
    map->data_ = static_cast<std::byte*>(address);
    map->size_ = size;
    map->range_ = std::make_unique<MappedRange>(map->data_, size, path);
    return map;
  }
  try {
    map->copy_ = Buffer(size, MemoryAccount::weights());
  } catch (const Error& error) {
    fail(error.code(),
         fmt::format("{}: {}; read it mapped (without --no-mmap)", path.string(), error.what()));
  }
  map->data_ = map->copy_.data();
  map->size_ = size;
  read_fully(file.get(), map->data_, size, path);
  return map;
}

FileMap::~FileMap() {
  range_.reset();
  if (data_ != nullptr && access_ == FileAccess::map) ::munmap(data_, size_);
}

std::string read_text_file(const std::filesystem::path& path, std::uint64_t limit) {
  FileHandle file(path, O_RDONLY | O_NONBLOCK);
  if (file.get() < 0) fail_io(path.string());
  const std::size_t size = regular_file_size(file.get(), path);
  if (size > limit) {
    fail(ErrorCode::corrupt_file,
         fmt::format("{}: {} bytes, but at most {} are expected here", path.string(), size, limit));
  }
  std::string text(size, '\0');
  read_fully(file.get(), reinterpret_cast<std::byte*>(text.data()), size, path);
  return text;
}

void write_file_atomically(const std::filesystem::path& path, Bytes content, unsigned mode) {
  AtomicFile file(path);
  file.write(content);
  file.commit(mode);
}

}  // namespace linnet
