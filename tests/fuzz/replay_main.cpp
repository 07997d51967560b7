// Runs a fuzz target over saved inputs: files, and the files of folders. Each must return, in
// little time; a finding ends the process with the name of its file.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file_map.h"
#include "fuzz/target.h"
#include "time_limit.h"

namespace {

namespace fs = std::filesystem;

const char* g_input = "";  // the file at hand, for the signal handler

extern "C" void tell_input(int signal) {
  for (const char* text : {"replay: died on ", g_input, "\n"}) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, std::strlen(text));
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

std::vector<std::string> inputs_of(int argc, char** argv) {
  std::vector<std::string> inputs;
  for (int i = 1; i < argc; ++i) {
    if (!fs::is_directory(argv[i])) {
      inputs.emplace_back(argv[i]);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(argv[i])) {
      if (entry.is_regular_file()) inputs.push_back(entry.path().string());
    }
  }
  std::sort(inputs.begin(), inputs.end());
  return inputs;
}

bool replay(const std::string& path) {
  constexpr double kSeconds = 0.1;
  g_input = path.c_str();
  const std::string content = linnet::read_text_file(path);
  const linnet::testing::ProcessorWatch watch;
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(content.data()), content.size());
  const double seconds = watch.seconds();
  if (seconds <= linnet::testing::time_limit(kSeconds)) return true;
  fmt::print("FAIL {}: {:.3f} s of processor time\n", path, seconds);
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGILL, SIGBUS}) {
    std::signal(signal, tell_input);
  }
  LLVMFuzzerTestOneInput(nullptr, 0);  // also builds what a target makes once
  const std::vector<std::string> inputs = inputs_of(argc, argv);
  const auto failed = std::count_if(inputs.begin(), inputs.end(),
                                    [](const std::string& path) { return !replay(path); });
  fmt::print("{} passed, {} failed\n", static_cast<std::ptrdiff_t>(inputs.size()) - failed, failed);
  return failed == 0 && !inputs.empty() ? 0 : 1;
}
