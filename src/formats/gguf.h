// One GGUF file (versions 2 and 3, little endian): typed metadata and tensors. Opening checks every
// count and length against the bytes that remain, and every tensor's data against the file, so that
// a hostile file costs no more memory than its own size. Shapes are given in our order, rows first.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/file_map.h"
#include "formats/tensor_info.h"

namespace linnet {

enum class GgufType : std::uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  string,
  array,
  u64,
  i64,
  f64,
};

// A metadata value: a view of the file, checked when it was opened. A getter of another type is
// Error{corrupt_file} that names file and key.
class GgufValue {
 public:
  GgufType type() const { return type_; }
  std::uint64_t count() const { return count_; }  // of an array, else 1

  std::int64_t as_int() const;  // any integer type that fits
  std::int64_t as_int_in(std::int64_t low, std::int64_t high) const;
  double as_double() const;  // any number
  bool as_bool() const;
  std::string_view as_string() const;
  std::vector<std::int64_t> as_ints() const;
  std::vector<double> as_doubles() const;
  std::vector<std::string_view> as_strings() const;

 private:
  friend class GgufReader;
  [[noreturn]] void wrong_type(std::string_view expected) const;
  std::string type_text() const;

  std::string label_;  // "model.gguf: key llama.block_count"
  GgufType type_ = GgufType::u8;
  GgufType item_ = GgufType::u8;  // of an array
  std::uint64_t count_ = 1;
  Bytes bytes_;  // the value; of an array, its items; of a string, its text
};

class GgufFile {
 public:
  // Errors: not_found, io; corrupt_file naming file and offset, key or tensor; unsupported for
  // other versions, big-endian files and tensor types that are not read here.
  static std::shared_ptr<const GgufFile> open(const std::filesystem::path& path,
                                              FileAccess access = FileAccess::map);
  static std::shared_ptr<const GgufFile> from_bytes(Bytes bytes, const std::string& name,
                                                    std::shared_ptr<const void> owner);

  const std::string& name() const { return name_; }
  const GgufValue* find(std::string_view key) const;
  const GgufValue& at(std::string_view key) const;  // Error{corrupt_file} without the key

  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  const TensorInfo* find_tensor(std::string_view name) const;
  // A view of the file (a copy where misaligned). Error{not_found} without the tensor.
  Tensor tensor(std::string_view name) const;

 private:
  friend class GgufReader;
  GgufFile() = default;

  std::string name_;
  std::shared_ptr<const void> owner_;
  std::unordered_map<std::string_view, GgufValue> values_;
  std::vector<TensorInfo> tensors_;
  std::vector<Bytes> data_;  // of tensors_[i]
  std::unordered_map<std::string_view, std::size_t> index_;
};

// The type's name in the format ("Q4_K"), for messages.
std::string_view gguf_type_name(DType dtype);

}  // namespace linnet
