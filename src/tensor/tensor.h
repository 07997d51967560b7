// A tensor: a type, a shape and bytes, shared with whatever owns them (a mapped file, a buffer).
// Copying a Tensor copies the view, not the bytes. Rows are contiguous, the last axis innermost.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "tensor/dtype.h"

namespace linnet {

using Shape = std::vector<std::int64_t>;
class CodedRows;  // tensor/coded_rows.h

std::string shape_text(const Shape& shape);  // "[256, 64]"
// Product of the axes; Error{corrupt_file} on overflow or a negative axis, naming `what`.
std::int64_t element_count(const Shape& shape, std::string_view what);
// Bytes of a tensor; the last axis must be a multiple of the block (Error{corrupt_file}).
std::uint64_t tensor_bytes(DType dtype, const Shape& shape, std::string_view what);

class Tensor {
 public:
  Tensor() = default;
  // A view of `bytes`, which `owner` keeps alive. The size must be right (a bug otherwise).
  Tensor(DType dtype, Shape shape, Bytes bytes, std::shared_ptr<const void> owner);
  // The same, but bytes that are misaligned for the type are copied.
  static Tensor aligned(DType dtype, Shape shape, Bytes bytes, std::shared_ptr<const void> owner);
  // Owns zeroed memory, or a copy of `values`. Charged to MemoryAccount::weights().
  static Tensor zeros(DType dtype, Shape shape);
  static Tensor from_values(Shape shape, std::span<const float> values);
  // Owns a copy of `bytes`.
  static Tensor from_bytes(DType dtype, Shape shape, Bytes bytes);
  // A matrix of the type `coded`, whose bytes() are none: it is read through its rows.
  static Tensor of_rows(std::shared_ptr<const CodedRows> rows);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::int64_t rank() const { return static_cast<std::int64_t>(shape_.size()); }
  // A negative axis counts from the end.
  std::int64_t dim(std::int64_t axis) const {
    return shape_[static_cast<std::size_t>(axis < 0 ? axis + rank() : axis)];
  }
  std::int64_t elements() const;
  // Rows = product of all axes but the last; one row is row_bytes() long. A scalar is one row.
  std::int64_t rows() const;
  std::int64_t row_bytes() const;
  Bytes bytes() const { return bytes_; }
  // What decodes the rows; null unless the type is `coded`.
  const CodedRows* coded_rows() const {
    return dtype_ == DType::coded ? static_cast<const CodedRows*>(owner_.get()) : nullptr;
  }
  std::uint64_t stored_bytes() const;  // of a coded one all tensors that make it up
  // Made by the default constructor: no tensor at all (a scalar has no axes, but bytes).
  bool empty() const { return shape_.empty() && bytes_.empty(); }

  // The elements in place; the type must match (a bug otherwise).
  template <typename T>
  std::span<const T> values() const {
    return {reinterpret_cast<const T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }
  // Decodes row `row` into `out` (dim(-1) floats), whatever the type.
  void decode_row(std::int64_t row, float* out) const;
  // All elements as f32; the tensor itself when it is f32 and suitably aligned. Integers are
  // Error{unsupported}.
  Tensor to_f32() const;
  std::vector<float> to_floats() const;
  std::vector<std::int64_t> to_ints() const;  // integer and boolean types only

 private:
  void decode_all(float* out) const;

  DType dtype_ = DType::f32;
  Shape shape_;
  Bytes bytes_;
  std::shared_ptr<const void> owner_;
};

}  // namespace linnet
