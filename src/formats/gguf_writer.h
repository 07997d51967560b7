// Writes one GGUF file (version 3, little endian), complete or not at all: typed metadata, then the
// tensors. Shapes are given in our order, rows first.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "formats/tensor_output.h"

namespace linnet {

// The alternative is the type in the file; a vector is an array of it.
using GgufFieldValue =
    std::variant<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t,
                 std::int32_t, std::uint64_t, std::int64_t, float, double, bool, std::string,
                 std::vector<std::uint32_t>, std::vector<std::int32_t>, std::vector<std::uint64_t>,
                 std::vector<std::int64_t>, std::vector<float>, std::vector<double>,
                 std::vector<bool>, std::vector<std::string>>;

struct GgufField {
  std::string key;
  GgufFieldValue value;
};

inline constexpr std::uint32_t kGgufAlignment = 32;  // what a file without general.alignment has

// A field general.alignment (u32) sets the alignment of the data. Error{invalid_argument}: a key or
// a name that comes twice or is too long, an alignment that is no power of two; unsupported: a
// tensor of more than four axes or of a type that the format does not know.
void write_gguf(const std::filesystem::path& path, const std::vector<GgufField>& fields,
                const std::vector<OutgoingTensor>& tensors, TensorOutput& output);

}  // namespace linnet
