// The files that are mapped at the moment, for the one fault no check can prevent: a file that is
// cut short, or whose disk fails, while it is mapped raises SIGBUS at the next read of its pages.
// A program that installs the handler ends with a message that names the file; the library alone
// installs nothing.
#pragma once

#include <cstddef>
#include <filesystem>

namespace linnet {

// One mapped range, known for as long as the object lives. Beyond kMostMappedFiles at a time the
// file has no name in a message.
class MappedRange {
 public:
  MappedRange(const std::byte* start, std::size_t size, const std::filesystem::path& path);
  ~MappedRange();
  MappedRange(const MappedRange&) = delete;
  MappedRange& operator=(const MappedRange&) = delete;

 private:
  struct MappedSlot* slot_ = nullptr;
};

inline constexpr std::size_t kMostMappedFiles = 1024;

// The path of the mapped file that holds this address, or nullptr. Safe in a signal handler; the
// text lives as long as the mapping.
const char* mapped_file_at(const void* address);

// From now on such a SIGBUS writes one line on standard error and ends the process with status 1.
// `program` opens the line and must live forever. Any other SIGBUS is fatal as before.
void install_mapped_file_handler(const char* program);

}  // namespace linnet
