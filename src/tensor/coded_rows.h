// A matrix that several tensors of a file make up together: codes, scales, biases. Every row
// decodes to floats; codes of Linnet's own formats (quantized_rows.h) can also be had as they are
// stored, so that packing them for a kernel does not round twice.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "tensor/affine.h"
#include "tensor/float_codes.h"
#include "tensor/grouped_rows.h"
#include "tensor/microscaling.h"
#include "tensor/quantized_rows.h"
#include "tensor/tensor.h"

namespace linnet {

// Where the rows of a matrix come from. Thread-safe.
class RowSource {
 public:
  virtual ~RowSource() = default;
  virtual void decode_row(std::int64_t row, float* out) const = 0;
  // The row as it is stored; false (and nothing written) when it is of another format.
  virtual bool read_i8(std::int64_t, I8Row&) const { return false; }
  virtual bool read_n4(std::int64_t, N4Row&) const { return false; }
  virtual bool read_s6(std::int64_t, S6Row&) const { return false; }
  virtual bool read_float_codes(std::int64_t, FloatCode, FloatCodeRow&) const { return false; }
  // The same, brought to a format that holds its own.
  virtual bool read_grouped(std::int64_t, const GroupedFormat&, GroupedRow&) const { return false; }
};

class CodedRows : public RowSource {
 public:
  virtual const Shape& shape() const = 0;       // [outputs, inputs]
  virtual std::string_view format() const = 0;  // "n4"
  // Of rows that read_grouped can give: what they are made of.
  virtual std::optional<GroupedFormat> grouped() const { return std::nullopt; }
  virtual std::uint64_t bytes() const = 0;  // of all the tensors
  // False only when no value of the row is NaN or infinite; tells it without decoding.
  virtual bool may_be_non_finite(std::int64_t) const { return true; }
};

// I8: codes I8 [outputs, inputs], scales F32 [outputs].
std::shared_ptr<const CodedRows> i8_rows(Tensor codes, Tensor scales);
// N4: codes U8 [outputs, inputs / 2], the even input's in the low nibble; groups I8
// [outputs, ceil(inputs / 32)]; scales F16 [outputs].
std::shared_ptr<const CodedRows> n4_rows(Tensor codes, Tensor groups, Tensor scales);
// S6: codes U8 [outputs, inputs * 3 / 4], four of code + 32 in three bytes, the first one's in the
// lowest bits; groups I8 [outputs, ceil(inputs / 64)]; scales F16 [outputs].
std::shared_ptr<const CodedRows> s6_rows(Tensor codes, Tensor groups, Tensor scales);

// Formats of others. Affine (affine.h): words U32 [outputs, inputs * bits / 32], scales and biases
// F16, BF16 or F32 [outputs, inputs / group].
std::shared_ptr<const CodedRows> affine_rows(const AffineFormat& format, Tensor words,
                                             Tensor scales, Tensor biases);
// Microscaled (microscaling.h): words U32, scales U8 [outputs, inputs / group].
std::shared_ptr<const CodedRows> microscaled_rows(Microscaling mode, Tensor words, Tensor scales);
// NF4 (nf4.h): blocks run over the flattened matrix; two values in each byte of `packed`. "nf4" is
// the format of rows that read_float_codes can give, "nf4-flat" that of others.
std::string_view nf4_format(const Shape& shape, std::int64_t block);
std::shared_ptr<const CodedRows> nf4_rows(Shape shape, std::int64_t block, Tensor packed,
                                          std::vector<float> absmax);

}  // namespace linnet
