// A smoke computation through a real program: is the library sound on this machine?
#pragma once

#include <string>

namespace linnet {

struct SelfTestResult {
  bool passed = false;
  std::string detail;
};

// Adds 1 to [1, 2] and sums: exactly 5.0, and no step may fall back to another lane.
SelfTestResult run_self_test();

}  // namespace linnet
