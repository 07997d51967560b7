// What a file says about a tensor, before anyone asks for its values.
#pragma once

#include <string>

#include "tensor/tensor.h"

namespace linnet {

struct TensorInfo {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  // Of a coded one: the format of its rows, and the bytes of all tensors that make it up.
  std::string_view coding = {};
  std::uint64_t coded_bytes = 0;
};

// Blocks and codes count too.
bool is_floating(DType dtype);
// "bf16", "q4_k", "n4"
inline std::string_view type_name(const TensorInfo& info) {
  return info.dtype == DType::coded ? info.coding : dtype_name(info.dtype);
}
inline std::uint64_t stored_bytes(const TensorInfo& info) {
  return info.dtype == DType::coded ? info.coded_bytes
                                    : tensor_bytes(info.dtype, info.shape, info.name);
}

}  // namespace linnet
