// What this machine offers, read from the system; nothing is changed. For `linnet doctor`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace linnet {

struct CpuFeature {
  std::string name;  // "avx2"
  bool present = false;
};

// Those that kernels can use on this kind of processor.
std::vector<CpuFeature> cpu_features();
std::string platform_text();   // "Linux 6.1.0 x86_64"
std::string processor_name();  // as the system calls it, or the machine's kind

struct MemoryState {
  std::uint64_t total = 0;      // bytes this process may use: the machine's, or its cgroup's limit
  std::uint64_t available = 0;  // of them, now
  bool limited = false;         // by a cgroup
};

// `root` stands before /proc and /sys, for tests. None when the system does not tell.
std::optional<MemoryState> memory_state(const std::filesystem::path& root = "/");

// The most memory that this process has held so far; 0 when the system does not tell.
std::uint64_t peak_resident_bytes();

// Free bytes where `path` lies or, while it does not exist, where it would be made.
std::optional<std::uint64_t> free_disk_bytes(std::filesystem::path path);

// ${XDG_CACHE_HOME:-~/.cache}/linnet; none without a home.
std::optional<std::filesystem::path> cache_folder();

std::string byte_text(std::uint64_t bytes);  // "1.5 GB"

}  // namespace linnet
