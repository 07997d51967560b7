// The lines that were typed in earlier chats, one entry a line. Each entry is appended at once and
// in one write, so that several chats may share the file. Only its owner can read it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace linnet {

class HistoryFile {
 public:
  static constexpr std::size_t kKept = 1000;

  // A history that cannot be read or written is no reason to fail: it is then kept in memory only.
  explicit HistoryFile(std::optional<std::filesystem::path> path);

  const std::vector<std::string>& entries() const { return entries_; }
  // Repetitions of the last entry, empty and very long ones are left out; newlines become spaces.
  void add(const std::string& entry);

 private:
  void load();
  void append(const std::string& line);

  std::optional<std::filesystem::path> path_;
  std::vector<std::string> entries_;
};

// ${XDG_STATE_HOME:-~/.local/state}/linnet/history; none without a home.
std::optional<std::filesystem::path> default_history_path();

}  // namespace linnet
