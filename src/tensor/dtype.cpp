#include "tensor/dtype.h"

#include <array>
#include <cstddef>

#include "base/error.h"
#include "tensor/half_bits.h"

namespace linnet {
namespace {

// In the order of the enum.
constexpr std::array kTypes{
    DTypeInfo{DType::f32, "f32", 1, 4},
    DTypeInfo{DType::bf16, "bf16", 1, 2},
    DTypeInfo{DType::f16, "f16", 1, 2},
    DTypeInfo{DType::f64, "f64", 1, 8},
    DTypeInfo{DType::i8, "i8", 1, 1},
    DTypeInfo{DType::u8, "u8", 1, 1},
    DTypeInfo{DType::i16, "i16", 1, 2},
    DTypeInfo{DType::u16, "u16", 1, 2},
    DTypeInfo{DType::i32, "i32", 1, 4},
    DTypeInfo{DType::u32, "u32", 1, 4},
    DTypeInfo{DType::i64, "i64", 1, 8},
    DTypeInfo{DType::u64, "u64", 1, 8},
    DTypeInfo{DType::boolean, "bool", 1, 1},
    DTypeInfo{DType::q4_0, "q4_0", 32, 18},
    DTypeInfo{DType::q4_1, "q4_1", 32, 20},
    DTypeInfo{DType::q5_0, "q5_0", 32, 22},
    DTypeInfo{DType::q5_1, "q5_1", 32, 24},
    DTypeInfo{DType::q8_0, "q8_0", 32, 34},
    DTypeInfo{DType::q2_k, "q2_k", 256, 84},
    DTypeInfo{DType::q3_k, "q3_k", 256, 110},
    DTypeInfo{DType::q4_k, "q4_k", 256, 144},
    DTypeInfo{DType::q5_k, "q5_k", 256, 176},
    DTypeInfo{DType::q6_k, "q6_k", 256, 210},
    DTypeInfo{DType::iq4_nl, "iq4_nl", 32, 18},
    DTypeInfo{DType::iq4_xs, "iq4_xs", 256, 136},
    DTypeInfo{DType::mxfp4, "mxfp4", 32, 17},
    DTypeInfo{DType::coded, "coded", 1, 0},
};

constexpr bool in_enum_order() {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (static_cast<std::size_t>(kTypes[i].dtype) != i) return false;
  }
  return true;
}
static_assert(in_enum_order());

}  // namespace

const DTypeInfo& dtype_info(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  LINNET_CHECK(index < kTypes.size());
  return kTypes[index];
}

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const DTypeInfo& info : kTypes) {
    if (info.name == name) return info.dtype;
  }
  return std::nullopt;
}

float bf16_to_f32(std::uint16_t bits) { return half_bits::bf16_to_f32(bits); }
float f16_to_f32(std::uint16_t bits) { return half_bits::f16_to_f32(bits); }
std::uint16_t f32_to_bf16(float value) { return half_bits::f32_to_bf16(value); }
std::uint16_t f32_to_f16(float value) { return half_bits::f32_to_f16(value); }

}  // namespace linnet
