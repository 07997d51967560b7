// A file that is complete or absent, written piece by piece: it grows beside its target and takes
// the target's place when it is committed. One that is not committed leaves nothing behind.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/bytes.h"

namespace linnet {

class AtomicFile {
 public:
  // Error{not_found} without the folder, Error{io}; both name the target.
  explicit AtomicFile(const std::filesystem::path& target);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Claims the room for a file of `bytes` now, so that a full disk is told before the work and not
  // after it. Where the file system cannot promise room, nothing happens.
  void reserve(std::uint64_t bytes);
  void write(Bytes content);
  void write_zeros(std::uint64_t count);
  std::uint64_t size() const { return size_; }  // written so far

  // Cuts what was reserved and not written, then fsync, rename, fsync of the folder.
  void commit(unsigned mode = 0644);

 private:
  [[noreturn]] void fail_to_write() const;

  std::filesystem::path target_;
  std::string name_;
  std::uint64_t size_ = 0;
  int fd_ = -1;
  bool committed_ = false;
};

// Makes a rename or a new name within the folder durable.
void sync_folder(const std::filesystem::path& folder);

}  // namespace linnet
