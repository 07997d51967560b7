#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "golden_runner/suite.h"

namespace fs = std::filesystem;

namespace golden {

void Report::begin(const std::string& folder) { folder_ = folder; }

void Report::pass(const std::string& name) {
  ++passed_;
  if (verbose) fmt::print("pass {} {}\n", folder_, name);
}

void Report::fail(const std::string& name, const std::string& detail) {
  ++failed_;
  fmt::print("FAIL {} {}: {}\n", folder_, name, detail);
}

void Report::skip(const std::string& name, const std::string& reason) {
  ++skipped_;
  ++reasons_[reason];
  if (verbose) fmt::print("skip {} {}: {}\n", folder_, name, reason);
}

int Report::finish() const {
  for (const auto& [reason, count] : reasons_) fmt::print("skipped {}: {}\n", count, reason);
  if (passed_ + failed_ + skipped_ == 0) {
    fmt::print("no cases found\n0 passed, 1 failed, 0 skipped\n");
    return 1;
  }
  fmt::print("{} passed, {} failed, {} skipped\n", passed_, failed_, skipped_);
  return failed_ == 0 ? 0 : 1;
}

fs::path find_shared(const fs::path& folder, const std::string& relative) {
  for (fs::path above = fs::absolute(folder); above.has_relative_path();
       above = above.parent_path()) {
    if (fs::exists(above / relative)) return above / relative;
  }
  if (const char* shared = std::getenv("LINNET_SHARED");
      shared && fs::exists(fs::path(shared) / relative)) {
    return fs::path(shared) / relative;
  }
  if (fs::exists(fs::path(LINNET_SHARED_DIR) / relative))
    return fs::path(LINNET_SHARED_DIR) / relative;
  return {};
}

namespace {

linnet::LaneChoice lane{.lane = "reference"};

// Runs the suite of `folder`, or looks in the folders below it.
void walk(const fs::path& folder, Report& report) {
  for (const Suite& suite : suites()) {
    if (!suite.accepts(folder)) continue;
    report.begin(folder.string());
    try {
      suite.run(folder, report);
    } catch (const std::exception& error) {
      report.fail(suite.name, error.what());
    }
    return;
  }
  std::vector<fs::path> below;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) below.push_back(entry.path());
  }
  std::sort(below.begin(), below.end());
  for (const fs::path& path : below) walk(path, report);
}

}  // namespace

linnet::LoadOptions load_options() {
  linnet::LoadOptions options;
  linnet::choose_lane(lane, options);
  return options;
}

}  // namespace golden

int main(int argc, char** argv) {
  golden::Report report;
  int folders = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "-v") == 0) {
      report.verbose = true;
      continue;
    }
    if (std::strcmp(argv[i], "--lane") == 0 && i + 1 < argc) {
      golden::lane.lane = argv[++i];
      // What is expected was calculated in f32; codes would multiply rounded activations.
      golden::lane.weights = "f32";
      continue;
    }
    ++folders;
    // "folder/" and "folder" are the same folder.
    const fs::path folder = fs::path(argv[i]).lexically_normal() / "";
    if (!fs::is_directory(folder)) {
      fmt::print("FAIL {}: not a folder\n0 passed, 1 failed, 0 skipped\n", argv[i]);
      return 1;
    }
    golden::walk(folder.parent_path(), report);
  }
  if (folders == 0) {
    fmt::print(stderr, "usage: golden [-v] [--lane LANE] FOLDER...\n");
    return 2;
  }
  return report.finish();
}
