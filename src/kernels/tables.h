// The tables that a build may have.
#pragma once

#include "kernels/kernels.h"

namespace linnet {

extern const Kernels kScalarKernels;
#if defined(__x86_64__)
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;
extern const Kernels kAmxKernels;
#elif defined(__aarch64__)
extern const Kernels kNeonKernels;
#endif

}  // namespace linnet
