// What a file says about a tensor, before anyone asks for its values.
#pragma once

#include <string>

#include "tensor/tensor.h"

namespace linnet {

struct TensorInfo {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
};

// Blocks count too.
bool is_floating(DType dtype);

}  // namespace linnet
