// A whole file as bytes, mapped read-only (pages are shared and come on demand) or read into
// memory. Shared by pointer: tensors that view a file keep it alive.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/mapped_files.h"
#include "base/memory_account.h"

namespace linnet {

enum class FileAccess { map, read };

class FileMap {
 public:
  // Errors: not_found, io (not a regular file, no permission), out_of_memory.
  static std::shared_ptr<const FileMap> open(const std::filesystem::path& path,
                                             FileAccess access = FileAccess::map);
  ~FileMap();
  FileMap(const FileMap&) = delete;
  FileMap& operator=(const FileMap&) = delete;

  Bytes bytes() const { return {data_, size_}; }
  const std::filesystem::path& path() const { return path_; }

 private:
  FileMap() = default;
  std::filesystem::path path_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  FileAccess access_ = FileAccess::read;
  Buffer copy_;  // of a file that is read
  std::unique_ptr<MappedRange> range_;
};

// The text of a small file. Refuses files over `limit` bytes (Error{corrupt_file}).
std::string read_text_file(const std::filesystem::path& path, std::uint64_t limit = 64u << 20);

// A saved file is complete or absent: write beside, fsync, rename, fsync the folder.
void write_file_atomically(const std::filesystem::path& path, Bytes content, unsigned mode = 0644);

}  // namespace linnet
