#include "kernels/lanes_scalar.h"
#include "kernels/table.h"
#include "kernels/tables.h"

namespace linnet {

const Kernels kScalarKernels = make_table<ScalarLanes>("scalar", "nothing", [] { return true; });

}  // namespace linnet
