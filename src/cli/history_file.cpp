#include "cli/history_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/file_map.h"
#include "base/log.h"
#include "base/utf8.h"
#include "cli/options.h"
#include "cli/private_file.h"

namespace linnet {

namespace {
constexpr std::uint64_t kMaxFileBytes = 64u << 20;
constexpr std::size_t kMaxEntryBytes = 1 << 14;  // 2 * kKept of them stay below the other limit
}  // namespace

HistoryFile::HistoryFile(std::optional<std::filesystem::path> path) : path_(std::move(path)) {
  if (!path_) return;
  try {
    load();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::not_found) return;
    log_warn(std::string("no history: ") + error.what());
    path_.reset();
  }
}

void HistoryFile::load() {
  const std::string text = read_text_file(*path_, kMaxFileBytes);
  std::size_t lines = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    // Another hand may have been at the file; the editor takes valid text only.
    if (end > begin) entries_.push_back(repair_utf8(text.substr(begin, end - begin)));
    begin = end + 1;
    ++lines;
  }
  if (entries_.size() > kKept) entries_.erase(entries_.begin(), entries_.end() - kKept);
  if (lines <= 2 * kKept) return;
  std::string kept;
  for (const std::string& entry : entries_) kept += entry + "\n";
  write_private_file(*path_, kept);
}

void HistoryFile::add(const std::string& entry) {
  std::string line = entry;
  std::replace(line.begin(), line.end(), '\n', ' ');
  if (line.empty() || line.size() > kMaxEntryBytes) return;
  if (!entries_.empty() && entries_.back() == line) return;
  entries_.push_back(line);
  if (path_) append(line + "\n");
}

void HistoryFile::append(const std::string& line) {
  std::error_code ignored;
  std::filesystem::create_directories(path_->parent_path(), ignored);
  const int fd =
      ::open(path_->c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);
  const bool written =
      fd >= 0 && ::write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  if (fd >= 0) ::close(fd);
  if (written) return;
  log_warn("cannot write " + path_->string() + "; the history is not kept");
  path_.reset();
}

std::optional<std::filesystem::path> default_history_path() {
  const auto state = environment("XDG_STATE_HOME");
  // The XDG rule: a relative path counts as unset.
  if (state && state->front() == '/') return std::filesystem::path(*state) / "linnet" / "history";
  const auto home = environment("HOME");
  if (!home || home->front() != '/') return std::nullopt;
  return std::filesystem::path(*home) / ".local" / "state" / "linnet" / "history";
}

}  // namespace linnet
