#include "kernels/tables.h"

#if defined(__x86_64__)
#include "kernels/lanes_avx2.h"
#include "kernels/table.h"

namespace linnet {

const Kernels kAvx2Kernels = make_table<Avx2Lanes>("avx2", "AVX2 and FMA", [] {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
});

}  // namespace linnet
#endif
