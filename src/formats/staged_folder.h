// A folder that is written beside its target and then takes its place, so that a conversion that
// fails, or is interrupted, leaves what was there as it was.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace linnet {

class StagedFolder {
 public:
  // Errors: not_found without the parent folder, io.
  explicit StagedFolder(const std::filesystem::path& target);
  ~StagedFolder();  // removes what was not committed
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }  // where to write

  // A target that is absent or an empty folder is replaced at once. Into one that has files, the
  // new files are moved one by one, replacing those of their names; `stale` names files of the
  // target that would contradict the new ones, and go when they are not among them.
  void commit(const std::vector<std::string>& stale);

 private:
  std::filesystem::path target_;
  std::filesystem::path path_;
};

}  // namespace linnet
