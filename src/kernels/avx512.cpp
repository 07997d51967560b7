#include "kernels/tables.h"

#if defined(__x86_64__)
#include "kernels/lanes_avx512.h"
#include "kernels/table.h"

namespace linnet {

const Kernels kAvx512Kernels = make_table<Avx512Lanes>("avx512", "AVX-512 F, BW, DQ, VL, VNNI", [] {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vnni");
});

}  // namespace linnet
#endif
