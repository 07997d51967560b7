#include "tensor/tensor.h"

#include <fmt/core.h>

#include <cstring>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/memory_account.h"
#include "tensor/blocks.h"
#include "tensor/coded_rows.h"

namespace linnet {
namespace {

// What an element must be aligned to: its own size, and nothing for blocks, which are read by byte.
std::uint64_t alignment_of(const DTypeInfo& info) {
  return info.plain() ? static_cast<std::uint64_t>(info.block_bytes) : 1;
}

bool is_aligned(const DTypeInfo& info, Bytes bytes) {
  return reinterpret_cast<std::uintptr_t>(bytes.data()) % alignment_of(info) == 0;
}

std::shared_ptr<Buffer> new_buffer(std::uint64_t bytes) {
  return std::make_shared<Buffer>(bytes, MemoryAccount::weights());
}

Tensor over_buffer(DType dtype, Shape shape, std::shared_ptr<Buffer> buffer) {
  const Bytes bytes(buffer->data(), buffer->size());
  return Tensor(dtype, std::move(shape), bytes, std::move(buffer));
}

template <typename T>
std::vector<std::int64_t> widen(const Tensor& tensor) {
  std::vector<std::int64_t> out;
  out.reserve(static_cast<std::size_t>(tensor.elements()));
  const Bytes bytes = tensor.bytes();
  for (std::size_t place = 0; place < bytes.size(); place += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + place, sizeof(T));
    if (!std::in_range<std::int64_t>(value)) {
      fail(ErrorCode::unsupported, fmt::format("the integer {} is larger than 2^63 - 1", value));
    }
    out.push_back(static_cast<std::int64_t>(value));
  }
  return out;
}

}  // namespace

std::string shape_text(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", shape[i]);
  }
  return text + "]";
}

std::int64_t element_count(const Shape& shape, std::string_view what) {
  bool none = false;
  // Zeros are left out of the product, so that [0, 2^40, 2^40] does not pass.
  std::int64_t extent = 1;
  for (const std::int64_t axis : shape) {
    if (axis < 0) {
      fail(ErrorCode::corrupt_file,
           fmt::format("{}: negative size in shape {}", what, shape_text(shape)));
    }
    if (axis != 0 && __builtin_mul_overflow(extent, axis, &extent)) {
      fail(ErrorCode::corrupt_file,
           fmt::format("{}: shape {} has more than 2^63 elements", what, shape_text(shape)));
    }
    none = none || axis == 0;
  }
  return none ? 0 : extent;
}

std::uint64_t tensor_bytes(DType dtype, const Shape& shape, std::string_view what) {
  const DTypeInfo& info = dtype_info(dtype);
  const auto count = static_cast<std::uint64_t>(element_count(shape, what));
  if (info.plain()) return checked_mul(count, static_cast<std::uint64_t>(info.block_bytes), what);
  if (shape.empty() || shape.back() % info.block_values != 0) {
    fail(ErrorCode::corrupt_file,
         fmt::format("{}: type {} needs rows of a multiple of {} values, but the shape is {}", what,
                     info.name, info.block_values, shape_text(shape)));
  }
  return checked_mul(count / static_cast<std::uint64_t>(info.block_values),
                     static_cast<std::uint64_t>(info.block_bytes), what);
}

Tensor::Tensor(DType dtype, Shape shape, Bytes bytes, std::shared_ptr<const void> owner)
    : dtype_(dtype), shape_(std::move(shape)), bytes_(bytes), owner_(std::move(owner)) {
  LINNET_CHECK(tensor_bytes(dtype_, shape_, "tensor") == bytes_.size(),
               "bytes do not fit the shape");
}

Tensor Tensor::aligned(DType dtype, Shape shape, Bytes bytes, std::shared_ptr<const void> owner) {
  if (is_aligned(dtype_info(dtype), bytes)) {
    return Tensor(dtype, std::move(shape), bytes, std::move(owner));
  }
  return from_bytes(dtype, std::move(shape), bytes);
}

Tensor Tensor::zeros(DType dtype, Shape shape) {
  auto buffer = new_buffer(tensor_bytes(dtype, shape, "tensor"));
  if (buffer->size() > 0) std::memset(buffer->data(), 0, buffer->size());
  return over_buffer(dtype, std::move(shape), std::move(buffer));
}

Tensor Tensor::from_values(Shape shape, std::span<const float> values) {
  return from_bytes(DType::f32, std::move(shape), std::as_bytes(values));
}

Tensor Tensor::from_bytes(DType dtype, Shape shape, Bytes bytes) {
  auto buffer = new_buffer(bytes.size());
  if (!bytes.empty()) std::memcpy(buffer->data(), bytes.data(), bytes.size());
  return over_buffer(dtype, std::move(shape), std::move(buffer));
}

Tensor Tensor::of_rows(std::shared_ptr<const CodedRows> rows) {
  Shape shape = rows->shape();
  return Tensor(DType::coded, std::move(shape), {}, std::move(rows));
}

std::uint64_t Tensor::stored_bytes() const {
  return dtype_ == DType::coded ? coded_rows()->bytes() : bytes_.size();
}

std::int64_t Tensor::elements() const {
  std::int64_t count = empty() ? 0 : 1;
  for (const std::int64_t axis : shape_) count *= axis;
  return count;
}

std::int64_t Tensor::rows() const {
  std::int64_t count = empty() ? 0 : 1;
  for (std::size_t i = 0; i + 1 < shape_.size(); ++i) count *= shape_[i];
  return count;
}

std::int64_t Tensor::row_bytes() const {
  const DTypeInfo& info = dtype_info(dtype_);
  const std::int64_t values = shape_.empty() ? 1 : shape_.back();
  return values / info.block_values * info.block_bytes;
}

void Tensor::decode_row(std::int64_t row, float* out) const {
  LINNET_CHECK(row >= 0 && row < rows());
  if (dtype_ == DType::coded) return coded_rows()->decode_row(row, out);
  decode(dtype_, bytes_.data() + row * row_bytes(), out, shape_.empty() ? 1 : shape_.back());
}

void Tensor::decode_all(float* out) const {
  if (dtype_ != DType::coded) return decode(dtype_, bytes_.data(), out, elements());
  for (std::int64_t row = 0; row < rows(); ++row) decode_row(row, out + row * dim(-1));
}

Tensor Tensor::to_f32() const {
  if (dtype_ == DType::f32 && is_aligned(dtype_info(dtype_), bytes_)) return *this;
  const auto count = static_cast<std::uint64_t>(elements());
  auto buffer = new_buffer(checked_mul(count, sizeof(float), "tensor"));
  decode_all(buffer->as<float>().data());
  return over_buffer(DType::f32, shape_, std::move(buffer));
}

std::vector<float> Tensor::to_floats() const {
  std::vector<float> values(static_cast<std::size_t>(elements()));
  decode_all(values.data());
  return values;
}

std::vector<std::int64_t> Tensor::to_ints() const {
  switch (dtype_) {
    case DType::i8:
      return widen<std::int8_t>(*this);
    case DType::u8:
    case DType::boolean:
      return widen<std::uint8_t>(*this);
    case DType::i16:
      return widen<std::int16_t>(*this);
    case DType::u16:
      return widen<std::uint16_t>(*this);
    case DType::i32:
      return widen<std::int32_t>(*this);
    case DType::u32:
      return widen<std::uint32_t>(*this);
    case DType::i64:
      return widen<std::int64_t>(*this);
    case DType::u64:
      return widen<std::uint64_t>(*this);
    default:
      fail(ErrorCode::unsupported,
           fmt::format("values of type {} cannot be read as integers", dtype_name(dtype_)));
  }
}

}  // namespace linnet
