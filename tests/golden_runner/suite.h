// The golden runner: runs every case of folders laid out like the shared golden data.
// A suite knows one kind of folder. Its cases end in pass, fail (with numbers) or skip (with a
// reason: the part that is not built yet, or data that is not on this machine).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "engine/lanes.h"

namespace golden {

class Report {
 public:
  // Names the folder for the lines that follow.
  void begin(const std::string& folder);
  void pass(const std::string& name);
  void fail(const std::string& name, const std::string& detail);
  void skip(const std::string& name, const std::string& reason);
  // "N passed, N failed, N skipped" after the reasons for skips. Returns the exit status.
  int finish() const;
  bool verbose = false;

 private:
  std::string folder_;
  int passed_ = 0;
  int failed_ = 0;
  int skipped_ = 0;
  std::map<std::string, int> reasons_;
};

struct Suite {
  const char* name;
  bool (*accepts)(const std::filesystem::path& folder);
  // Runs all cases of the folder. An exception that leaves it counts as one failure.
  void (*run)(const std::filesystem::path& folder, Report& report);
};

// All suites, in the order in which they are asked.
const std::vector<Suite>& suites();

// How the suites load models: in the lane that --lane asked for (reference by default).
linnet::LoadOptions load_options();

// Finds data outside of a golden folder, such as "data/smollm3_tokenizer/tokenizer.json": looks in
// the folders above `folder`, in $LINNET_SHARED, and beside the source tree. Empty when absent.
std::filesystem::path find_shared(const std::filesystem::path& folder, const std::string& relative);

}  // namespace golden
