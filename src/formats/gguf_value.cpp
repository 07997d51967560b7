#include <fmt/core.h>

#include <cstring>
#include <utility>

#include "base/error.h"
#include "formats/gguf.h"
#include "formats/gguf_types.h"

namespace linnet {
namespace {

template <typename T>
T load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

bool is_integer(GgufType type) {
  return type <= GgufType::i32 || type == GgufType::u64 || type == GgufType::i64;
}
bool is_float(GgufType type) { return type == GgufType::f32 || type == GgufType::f64; }

// Calls `use` with the number at `bytes` in its own type.
template <typename Use>
auto with_number(GgufType type, const std::byte* bytes, Use&& use) {
  switch (type) {
    case GgufType::u8:
      return use(load<std::uint8_t>(bytes));
    case GgufType::i8:
      return use(load<std::int8_t>(bytes));
    case GgufType::u16:
      return use(load<std::uint16_t>(bytes));
    case GgufType::i16:
      return use(load<std::int16_t>(bytes));
    case GgufType::u32:
      return use(load<std::uint32_t>(bytes));
    case GgufType::i32:
      return use(load<std::int32_t>(bytes));
    case GgufType::u64:
      return use(load<std::uint64_t>(bytes));
    case GgufType::i64:
      return use(load<std::int64_t>(bytes));
    case GgufType::f32:
      return use(load<float>(bytes));
    default:
      LINNET_CHECK(type == GgufType::f64);
      return use(load<double>(bytes));
  }
}

std::int64_t load_int(GgufType type, const std::byte* bytes, const std::string& label) {
  return with_number(type, bytes, [&label](auto value) -> std::int64_t {
    if constexpr (std::is_same_v<decltype(value), std::uint64_t>) {
      if (!std::in_range<std::int64_t>(value)) {
        fail(ErrorCode::corrupt_file, fmt::format("{}: {} is larger than 2^63 - 1", label, value));
      }
    }
    return static_cast<std::int64_t>(value);
  });
}

double load_double(GgufType type, const std::byte* bytes) {
  return with_number(type, bytes, [](auto value) { return static_cast<double>(value); });
}

}  // namespace

std::string_view gguf_value_type_name(GgufType type) {
  constexpr std::string_view kNames[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                         "bool", "string", "array", "u64", "i64", "f64"};
  return kNames[static_cast<std::size_t>(type)];
}

std::uint64_t gguf_value_bytes(GgufType type) {
  constexpr std::uint64_t kBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return kBytes[static_cast<std::size_t>(type)];
}

std::string GgufValue::type_text() const {
  if (type_ != GgufType::array) return std::string(gguf_value_type_name(type_));
  return fmt::format("array of {}", gguf_value_type_name(item_));
}

void GgufValue::wrong_type(std::string_view expected) const {
  fail(ErrorCode::corrupt_file,
       fmt::format("{}: expected {}, found the type {}", label_, expected, type_text()));
}

std::int64_t GgufValue::as_int() const {
  if (!is_integer(type_)) wrong_type("a whole number");
  return load_int(type_, bytes_.data(), label_);
}

std::int64_t GgufValue::as_int_in(std::int64_t low, std::int64_t high) const {
  const std::int64_t value = as_int();
  if (value < low || value > high) {
    fail(ErrorCode::corrupt_file,
         fmt::format("{}: {} is not in the range {} to {}", label_, value, low, high));
  }
  return value;
}

double GgufValue::as_double() const {
  if (!is_integer(type_) && !is_float(type_)) wrong_type("a number");
  return load_double(type_, bytes_.data());
}

bool GgufValue::as_bool() const {
  if (type_ != GgufType::boolean) wrong_type("a boolean");
  return bytes_[0] != std::byte{0};
}

std::string_view GgufValue::as_string() const {
  if (type_ != GgufType::string) wrong_type("a string");
  return as_text(bytes_);
}

std::vector<std::int64_t> GgufValue::as_ints() const {
  if (type_ != GgufType::array || !is_integer(item_)) wrong_type("an array of whole numbers");
  std::vector<std::int64_t> values;
  values.reserve(count_);
  const std::uint64_t size = gguf_value_bytes(item_);
  for (std::uint64_t i = 0; i < count_; ++i) {
    values.push_back(load_int(item_, bytes_.data() + i * size, label_));
  }
  return values;
}

std::vector<double> GgufValue::as_doubles() const {
  if (type_ != GgufType::array || !(is_integer(item_) || is_float(item_))) {
    wrong_type("an array of numbers");
  }
  std::vector<double> values;
  values.reserve(count_);
  const std::uint64_t size = gguf_value_bytes(item_);
  for (std::uint64_t i = 0; i < count_; ++i) {
    values.push_back(load_double(item_, bytes_.data() + i * size));
  }
  return values;
}

std::vector<std::string_view> GgufValue::as_strings() const {
  if (type_ != GgufType::array || item_ != GgufType::string) wrong_type("an array of strings");
  std::vector<std::string_view> values;
  values.reserve(count_);
  ByteReader reader(bytes_, label_);
  for (std::uint64_t i = 0; i < count_; ++i) {
    const auto length = reader.read<std::uint64_t>("string length");
    values.push_back(as_text(reader.take(length, "string")));
  }
  return values;
}

}  // namespace linnet
