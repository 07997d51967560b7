// Coded matrices as the native lane holds them.
#pragma once

#include <vector>

#include "kernels/matrix_format.h"
#include "tensor/coded_rows.h"

namespace golden {

// Packs the rows and decodes them from there.
std::vector<float> packed_values(const linnet::CodedRows& rows, const linnet::MatrixFormat& format);
// The rows packed in codes of floats and multiplied by the kernels: x [count, inputs] times their
// transpose.
std::vector<float> packed_product(const linnet::CodedRows& rows, linnet::PackedFormat format,
                                  std::span<const float> x, std::int64_t count);

}  // namespace golden
