// The n-th allocation of this binary fails: operator new is replaced, which buffers use as well.
#pragma once

#include <cstdint>

namespace linnet::testing {

// While it lives, the n-th allocation of the process (from 1 on) finds no memory.
class FailingAllocation {
 public:
  explicit FailingAllocation(std::int64_t n);
  ~FailingAllocation();
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;
  bool has_failed() const;
};

}  // namespace linnet::testing
