// A matrix packed for the kernels: strips of 32 outputs, each one stream of bytes, one after the
// other. What a strip holds, by format:
//   f32, bf16, f16  [inputs][32] numbers.
//   i8         [inputs / 4] pairs of vectors, each 16 outputs by 4 inputs: byte 4n + j of vector u
//   is
//              code[n][4u + j] + 128. Then [32] f32 scales.
//   n4         blocks of four groups of 32 inputs: [4][32] bytes c, then 16 pairs of vectors, each
//              16 outputs by 8 inputs: byte 2i + h of lane l (a vector is four lanes of 16 bytes)
//              holds output 4l + 2h + i / 4, inputs i % 4 (low nibble) and 4 + i % 4 (high). The
//              last block may have two groups only. Then [32] f32 scales.
//   s6         blocks of two groups of 64 inputs: [2][32] bytes c, then for every 16 inputs, for
//   the
//              first and the last 16 outputs, three vectors: nibbles of inputs 0-3 (low) and 4-7
//              (high), of 8-11 and 12-15, and the upper two bits of all, inputs 0-3 in bits 0 and
//              1, and so on; outputs and inputs in a vector as in n4. The last block may have one
//              group only. Then [32] f32 scales.
//   grouped    see grouped_strip.h.     nf4, mxfp8  see float_code_strip.h.
// Integer formats pad the inputs with zeros to a multiple of 64; all pad the outputs to 32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/memory_account.h"
#include "base/thread_pool.h"
#include "kernels/matrix_format.h"
#include "tensor/coded_rows.h"

namespace linnet {

struct PackedShape {
  PackedFormat format = PackedFormat::f32;
  std::int64_t outputs = 0;  // in strips: a multiple of 32
  std::int64_t inputs = 0;   // with padding
  GroupedStrip grouped = {};

  MatrixFormat matrix_format() const {
    return format == PackedFormat::grouped ? MatrixFormat(grouped.format) : MatrixFormat(format);
  }
  std::int64_t strips() const { return outputs / kStripOutputs; }
  std::int64_t strip_bytes() const;
  // Of one row of activations as the kernels read it.
  std::int64_t row_bytes() const;
  // Of a thread that multiplies.
  std::int64_t scratch_bytes() const;
  std::uint64_t bytes() const {
    return static_cast<std::uint64_t>(strips()) * static_cast<std::uint64_t>(strip_bytes());
  }
};
// How `rows` rows of activations lie for a matrix of the format.
RowTiling row_tiling(const Kernels& kernels, PackedFormat format, std::int64_t rows);
// The shape with its padding.
PackedShape packed_shape(const MatrixFormat& format, std::int64_t outputs, std::int64_t inputs);

class PackedMatrix {
 public:
  // `rows`: the source row of every output in the order of the strips; -1 pads. A row that is
  // stored in the same format of codes keeps them; any other is decoded and encoded anew. A
  // grouped matrix takes only rows that the source gives as such.
  // Errors: out_of_memory; what the source throws.
  static PackedMatrix pack(const MatrixFormat& format, std::span<const std::int64_t> rows,
                           std::int64_t inputs, const RowSource& source, ThreadPool& pool);
  // The same for rows of floats: writes `inputs` of them, from any thread of the pool.
  using RowReader = std::function<void(std::int64_t row, float* out)>;
  static PackedMatrix pack(const MatrixFormat& format, std::span<const std::int64_t> rows,
                           std::int64_t inputs, const RowReader& read_row, ThreadPool& pool);

  // Strips that lie elsewhere, shape.bytes() of them at a multiple of 64, which `owner` keeps
  // alive.
  static PackedMatrix over(const PackedShape& shape, const std::byte* strips,
                           std::shared_ptr<const void> owner);

  const PackedShape& shape() const { return shape_; }
  const std::byte* strips() const { return strips_; }
  Bytes bytes() const { return {strips_, shape_.bytes()}; }
  const std::shared_ptr<const void>& owner() const { return owner_; }
  // The weights of one output as the kernels see them, `inputs` of them: for tests and for tables
  // that are read row by row.
  void decode_output(std::int64_t output, std::int64_t inputs, float* out) const;

 private:
  PackedShape shape_;
  const std::byte* strips_ = nullptr;
  std::shared_ptr<const void> owner_;
};

}  // namespace linnet
