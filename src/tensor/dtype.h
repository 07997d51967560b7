// Element types of tensors: plain numbers, and the blocks of GGUF files, in which a fixed number of
// values share scales. One enum for both, so that a tensor of any type is the same kind of thing.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace linnet {

enum class DType : std::uint8_t {
  f32,
  bf16,
  f16,
  f64,
  i8,
  u8,
  i16,
  u16,
  i32,
  u32,
  i64,
  u64,
  boolean,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q8_0,
  q2_k,
  q3_k,
  q4_k,
  q5_k,
  q6_k,
  iq4_nl,
  iq4_xs,
  mxfp4,
  coded,  // several tensors make up the rows: see tensor/coded_rows.h
};

struct DTypeInfo {
  DType dtype;
  std::string_view name;      // "f32", "q4_k"
  std::int64_t block_values;  // 1 for plain numbers
  std::int64_t block_bytes;   // bytes of one block; 0 for coded
  bool plain() const { return block_values == 1 && block_bytes > 0; }
};

const DTypeInfo& dtype_info(DType dtype);
inline std::string_view dtype_name(DType dtype) { return dtype_info(dtype).name; }
std::optional<DType> dtype_from_name(std::string_view name);  // our lower-case names

// Rounding conversions: to nearest, ties to even; NaN stays NaN; denormals are kept.
float bf16_to_f32(std::uint16_t bits);
float f16_to_f32(std::uint16_t bits);
std::uint16_t f32_to_bf16(float value);
std::uint16_t f32_to_f16(float value);

}  // namespace linnet
