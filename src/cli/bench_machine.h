// The two ceilings of this machine: how fast its threads read memory, and how fast the kernels in
// use can multiply. Both change from minute to minute where machines are shared, so they are
// measured beside the work.
#pragma once

#include <cstdint>

#include "base/memory_account.h"
#include "base/thread_pool.h"
#include "cli/bench_options.h"
#include "cli/command.h"
#include "kernels/kernels.h"

namespace linnet {

struct Ceilings {
  double read_gb = 0;     // 10^9 bytes a second, all threads, pages of 2 MB
  double i8_tops = 0;     // 10^12 operations a second, all threads
  double f32_tflops = 0;  // the same in f32
};

class CeilingProbe {
 public:
  // Takes 512 MB of memory (1 GB for two threads or more), larger than any cache.
  CeilingProbe(const Kernels& kernels, ThreadPool& pool);
  // Takes about a fifth of a second.
  Ceilings measure();
  std::uint64_t bytes() const { return memory_.size(); }

 private:
  double read_once();
  double multiply(std::int64_t (*kernel)(std::int64_t, const std::byte*, float*));

  const Kernels& kernels_;
  ThreadPool& pool_;
  Buffer memory_;
};

// The mean of what was measured before and after the work.
Ceilings mean_of(const Ceilings& before, const Ceilings& after);
Json ceilings_json(const Ceilings& ceilings);

int bench_machine(CommandContext& context, const BenchOptions& options);

}  // namespace linnet
