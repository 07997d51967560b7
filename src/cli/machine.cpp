#include "cli/machine.h"

#include <fmt/core.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "cli/options.h"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace linnet {
namespace fs = std::filesystem;
namespace {

// Small system files have no size, so they are read as a stream.
std::string system_text(const fs::path& path) {
  std::ifstream file(path);
  std::string text(1 << 16, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  return text;
}

// The number in a file of one number; none for "max" and for a missing file.
std::optional<std::uint64_t> system_number(const fs::path& path) {
  std::istringstream text(system_text(path));
  std::uint64_t value = 0;
  if (!(text >> value)) return std::nullopt;
  return value;
}

// The number after `key` in a file of lines "key number ...".
std::optional<std::uint64_t> keyed_number(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    std::uint64_t value = 0;
    if (words >> name && name == key && words >> value) return value;
  }
  return std::nullopt;
}

void apply_limit(MemoryState& state, std::uint64_t limit, std::uint64_t used) {
  const std::uint64_t left = limit > used ? limit - used : 0;
  if (limit < state.total) {
    state.total = limit;
    state.limited = true;
  }
  state.available = std::min(state.available, left);
}

// The limits of the cgroup and of all groups above it. File pages count as used but can be
// dropped, so they are given back.
void apply_group_limits(MemoryState& state, const fs::path& mount, const std::string& group,
                        const char* limit_name, const char* used_name) {
  fs::path folder = mount / fs::path(group).relative_path();
  while (true) {
    const auto limit = system_number(folder / limit_name);
    const auto used = system_number(folder / used_name);
    if (limit && used) {
      const std::string stat = system_text(folder / "memory.stat");
      const std::uint64_t dropped = keyed_number(stat, "inactive_file").value_or(0);
      apply_limit(state, *limit, *used - std::min(*used, dropped));
    }
    if (folder == mount || !folder.has_relative_path()) return;
    folder = folder.parent_path();
  }
}

void apply_cgroups(MemoryState& state, const fs::path& root) {
  std::istringstream lines(system_text(root / "proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      apply_group_limits(state, root / "sys/fs/cgroup", group, "memory.max", "memory.current");
    } else if (controllers == "memory") {
      apply_group_limits(state, root / "sys/fs/cgroup/memory", group, "memory.limit_in_bytes",
                         "memory.usage_in_bytes");
    }
  }
}

}  // namespace

#if defined(__x86_64__)
std::vector<CpuFeature> cpu_features() {
  __builtin_cpu_init();
  std::vector<CpuFeature> features = {
      {"avx2", __builtin_cpu_supports("avx2") != 0},
      {"fma", __builtin_cpu_supports("fma") != 0},
      {"avx512f", __builtin_cpu_supports("avx512f") != 0},
      {"avx512vnni", __builtin_cpu_supports("avx512vnni") != 0},
  };
  // Compilers of this age do not know the name, the kernel does.
  const std::string info = system_text("/proc/cpuinfo");
  features.push_back({"amx_int8", info.find(" amx_int8") != std::string::npos});
  return features;
}
#elif defined(__aarch64__)
std::vector<CpuFeature> cpu_features() {
  const unsigned long bits = ::getauxval(AT_HWCAP);
  return {{"neon", (bits & HWCAP_ASIMD) != 0}, {"dotprod", (bits & HWCAP_ASIMDDP) != 0}};
}
#else
std::vector<CpuFeature> cpu_features() { return {}; }
#endif

std::string processor_name() {
  std::istringstream lines(system_text("/proc/cpuinfo"));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  utsname names{};
  return ::uname(&names) == 0 ? names.machine : "unknown";
}

std::uint64_t peak_resident_bytes() {
  return keyed_number(system_text("/proc/self/status"), "VmHWM:").value_or(0) << 10;
}

std::string platform_text() {
  utsname name{};
  if (::uname(&name) != 0) return "unknown";
  return fmt::format("{} {} {}", name.sysname, name.release, name.machine);
}

std::optional<MemoryState> memory_state(const fs::path& root) {
  constexpr std::uint64_t kUnit = 1024;  // meminfo counts in kB
  const std::string info = system_text(root / "proc/meminfo");
  const auto total = keyed_number(info, "MemTotal:");
  const auto available = keyed_number(info, "MemAvailable:");
  if (!total || !available) return std::nullopt;
  MemoryState state{*total * kUnit, *available * kUnit, false};
  apply_cgroups(state, root);
  return state;
}

std::optional<std::uint64_t> free_disk_bytes(fs::path path) {
  std::error_code ignored;
  while (!fs::exists(path, ignored) && path.has_relative_path()) path = path.parent_path();
  struct statvfs state {};
  if (::statvfs(path.c_str(), &state) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(state.f_bavail) * state.f_frsize;
}

std::optional<fs::path> cache_folder() {
  const auto cache = environment("XDG_CACHE_HOME");
  if (cache && cache->front() == '/') return fs::path(*cache) / "linnet";
  const auto home = environment("HOME");
  if (!home || home->front() != '/') return std::nullopt;
  return fs::path(*home) / ".cache" / "linnet";
}

std::string byte_text(std::uint64_t bytes) {
  static constexpr const char* kUnits[] = {"kB", "MB", "GB", "TB"};
  if (bytes < 1000) return fmt::format("{} bytes", bytes);
  double value = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  while (value >= 999.95 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace linnet
