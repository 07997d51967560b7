// The numbers and names that GGUF gives to types, in one place.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "formats/gguf.h"

namespace linnet {

std::string_view gguf_value_type_name(GgufType type);
// Bytes of one value; 0 for strings and arrays, which tell their own length.
std::uint64_t gguf_value_bytes(GgufType type);

struct GgufTensorType {
  std::uint32_t id;
  std::string_view name;
  std::optional<DType> dtype;  // none: known, but not read here
};
// nullptr for a number that no version of the format has given away.
const GgufTensorType* find_gguf_tensor_type(std::uint32_t id);

// The number of a type; nothing for types that GGUF files cannot hold.
std::optional<std::uint32_t> gguf_tensor_type_id(DType dtype);

}  // namespace linnet
