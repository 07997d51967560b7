#include "formats/staged_folder.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/atomic_file.h"
#include "base/error.h"

namespace fs = std::filesystem;

namespace linnet {

StagedFolder::StagedFolder(const fs::path& target) : target_(target) {
  std::string name = target.string() + ".XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) fail_io(fmt::format("cannot write {}", target.string()));
  path_ = name;
}

StagedFolder::~StagedFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

void StagedFolder::commit(const std::vector<std::string>& stale) {
  const std::string failure = fmt::format("cannot write {}", target_.string());
  if (::chmod(path_.c_str(), 0755) != 0) fail_io(failure);
  const fs::path parent = target_.has_parent_path() ? target_.parent_path() : ".";
  if (::rename(path_.c_str(), target_.c_str()) == 0) {
    path_.clear();
    return sync_folder(parent);
  }
  if (errno != ENOTEMPTY && errno != EEXIST) fail_io(failure);
  std::vector<std::string> moved;
  for (const auto& entry : fs::directory_iterator(path_)) {
    moved.push_back(entry.path().filename().string());
  }
  for (const std::string& name : moved) {
    const fs::path to = target_ / name;
    if (::rename((path_ / name).c_str(), to.c_str()) != 0) {
      fail_io(fmt::format("cannot write {}", to.string()));
    }
  }
  for (const std::string& name : stale) {
    std::error_code ignored;
    if (std::find(moved.begin(), moved.end(), name) == moved.end()) {
      fs::remove(target_ / name, ignored);
    }
  }
  sync_folder(target_);
}

}  // namespace linnet
