// The order of rows in query and key matrices. llama.cpp rotates neighbouring rows, Hugging Face
// row i with row i + half, so row 2 * i + s of a head in a GGUF file is row s * half + i of ours.
// Whole rows move, so their type does not matter and no bit changes.
#pragma once

#include <cstdint>
#include <string>

#include "tensor/tensor.h"

namespace linnet {

enum class RowOrder : std::uint8_t {
  half_split,   // Hugging Face, and everything in Linnet
  interleaved,  // GGUF
};

// A matrix [heads * head_dim, hidden] or a bias [heads * head_dim] brought from the other order to
// `to`. Error{corrupt_file} when the rows are not an even number for each head; `what` is the
// tensor, for messages.
Tensor reorder_head_rows(const Tensor& tensor, std::int64_t heads, RowOrder to,
                         const std::string& what);

}  // namespace linnet
