#include "formats/gguf_writer.h"

#include <fmt/core.h>

#include <type_traits>
#include <unordered_set>

#include "base/error.h"
#include "base/json.h"
#include "formats/gguf_types.h"

namespace linnet {
namespace {

constexpr std::uint32_t kVersion = 3;
// llama.cpp refuses longer tensor names.
constexpr std::size_t kMaxTensorName = 63;
constexpr std::size_t kMaxKey = 65535;
constexpr std::size_t kMaxAxes = 4;
constexpr std::string_view kAlignmentKey = "general.alignment";

template <typename T>
constexpr GgufType type_of() {
  if constexpr (std::is_same_v<T, std::uint8_t>) return GgufType::u8;
  if constexpr (std::is_same_v<T, std::int8_t>) return GgufType::i8;
  if constexpr (std::is_same_v<T, std::uint16_t>) return GgufType::u16;
  if constexpr (std::is_same_v<T, std::int16_t>) return GgufType::i16;
  if constexpr (std::is_same_v<T, std::uint32_t>) return GgufType::u32;
  if constexpr (std::is_same_v<T, std::int32_t>) return GgufType::i32;
  if constexpr (std::is_same_v<T, std::uint64_t>) return GgufType::u64;
  if constexpr (std::is_same_v<T, std::int64_t>) return GgufType::i64;
  if constexpr (std::is_same_v<T, float>) return GgufType::f32;
  if constexpr (std::is_same_v<T, double>) return GgufType::f64;
  if constexpr (std::is_same_v<T, bool>) return GgufType::boolean;
  if constexpr (std::is_same_v<T, std::string>) return GgufType::string;
  return GgufType::array;
}

template <typename T>
void append(std::string& out, const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    append(out, static_cast<std::uint64_t>(value.size()));
    out += value;
  } else if constexpr (std::is_same_v<T, bool>) {
    out += value ? '\1' : '\0';
  } else {
    static_assert(std::is_arithmetic_v<T>);
    out.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
}

void append_type(std::string& out, GgufType type) { append(out, static_cast<std::uint32_t>(type)); }

template <typename T>
void append_typed(std::string& out, const T& value) {
  append_type(out, type_of<T>());
  append(out, value);
}

template <typename T>
void append_typed(std::string& out, const std::vector<T>& items) {
  append_type(out, GgufType::array);
  append_type(out, type_of<T>());
  append(out, static_cast<std::uint64_t>(items.size()));
  for (const T& item : items) append(out, item);
}

[[noreturn]] void refuse(const std::string& file, std::string_view what, std::string_view name,
                         std::string_view why) {
  fail(ErrorCode::invalid_argument,
       fmt::format("{}: cannot write the {} {}: {}", file, what, json_quote(name), why));
}

std::uint64_t alignment_of(const std::vector<GgufField>& fields, const std::string& file) {
  for (const GgufField& field : fields) {
    if (field.key != kAlignmentKey) continue;
    const auto* value = std::get_if<std::uint32_t>(&field.value);
    if (value == nullptr || *value == 0 || (*value & (*value - 1)) != 0 || *value > 65536) {
      refuse(file, "key", field.key, "it must be a power of two up to 65536, as u32");
    }
    return *value;
  }
  return kGgufAlignment;
}

std::uint32_t type_id(const TensorInfo& info, const std::string& file) {
  if (const auto id = gguf_tensor_type_id(info.dtype)) return *id;
  fail(ErrorCode::unsupported, fmt::format("{}: tensor {}: GGUF files cannot hold the type {}",
                                           file, json_quote(info.name), dtype_name(info.dtype)));
}

std::string fields_text(const std::vector<GgufField>& fields, const std::string& file) {
  std::unordered_set<std::string_view> keys;
  std::string out;
  for (const GgufField& field : fields) {
    if (field.key.empty() || field.key.size() > kMaxKey) {
      refuse(file, "key", field.key, "its length must be 1 to 65535 bytes");
    }
    if (!keys.insert(field.key).second) refuse(file, "key", field.key, "it comes twice");
    append(out, field.key);
    std::visit([&](const auto& value) { append_typed(out, value); }, field.value);
  }
  return out;
}

std::uint64_t padded(std::uint64_t size, std::uint64_t unit) {
  return (size + unit - 1) / unit * unit;
}

// Names, shapes (innermost axis first), types and offsets.
std::string tensors_text(const std::vector<OutgoingTensor>& tensors, std::uint64_t unit,
                         const std::string& file) {
  std::unordered_set<std::string_view> names;
  std::string out;
  std::uint64_t offset = 0;
  for (const OutgoingTensor& tensor : tensors) {
    const TensorInfo& info = tensor.info;
    if (info.name.size() > kMaxTensorName) {
      refuse(file, "tensor", info.name, fmt::format("over {} bytes", kMaxTensorName));
    }
    if (!names.insert(info.name).second) refuse(file, "tensor", info.name, "it comes twice");
    if (info.shape.size() > kMaxAxes) refuse(file, "tensor", info.name, "over four axes");
    append(out, info.name);
    append(out, static_cast<std::uint32_t>(info.shape.size()));
    for (auto axis = info.shape.rbegin(); axis != info.shape.rend(); ++axis) {
      append(out, static_cast<std::uint64_t>(*axis));
    }
    append(out, type_id(info, file));
    append(out, offset);
    offset = padded(offset + tensor_bytes(info.dtype, info.shape, info.name), unit);
  }
  return out;
}

}  // namespace

void write_gguf(const std::filesystem::path& path, const std::vector<GgufField>& fields,
                const std::vector<OutgoingTensor>& tensors, TensorOutput& output) {
  const std::string name = path.string();
  const std::uint64_t unit = alignment_of(fields, name);
  std::string head = "GGUF";
  append(head, kVersion);
  append(head, static_cast<std::uint64_t>(tensors.size()));
  append(head, static_cast<std::uint64_t>(fields.size()));
  head += fields_text(fields, name);
  head += tensors_text(tensors, unit, name);
  AtomicFile file(path);
  file.reserve(padded(head.size(), unit) + total_bytes(tensors) + unit * tensors.size());
  file.write(as_bytes(head));
  for (const OutgoingTensor& tensor : tensors) {
    file.write_zeros(padded(file.size(), unit) - file.size());
    output.write(tensor, file);
  }
  // The reference reader wants the last tensor padded too.
  file.write_zeros(padded(file.size(), unit) - file.size());
  file.commit();
}

}  // namespace linnet
