#include "kernels/tables.h"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>

#include "kernels/lanes_neon.h"
#include "kernels/table.h"

namespace linnet {

const Kernels kNeonKernels = make_table<NeonLanes>(
    "neon", "Armv8.2 dot products", [] { return (::getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0; });

}  // namespace linnet
#endif
