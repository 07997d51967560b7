#include "formats/gguf_types.h"

#include "base/error.h"

namespace linnet {
namespace {

constexpr GgufTensorType kTypes[] = {
    {0, "F32", DType::f32},        {1, "F16", DType::f16},        {2, "Q4_0", DType::q4_0},
    {3, "Q4_1", DType::q4_1},      {4, "Q4_2", std::nullopt},     {5, "Q4_3", std::nullopt},
    {6, "Q5_0", DType::q5_0},      {7, "Q5_1", DType::q5_1},      {8, "Q8_0", DType::q8_0},
    {9, "Q8_1", std::nullopt},     {10, "Q2_K", DType::q2_k},     {11, "Q3_K", DType::q3_k},
    {12, "Q4_K", DType::q4_k},     {13, "Q5_K", DType::q5_k},     {14, "Q6_K", DType::q6_k},
    {15, "Q8_K", std::nullopt},    {16, "IQ2_XXS", std::nullopt}, {17, "IQ2_XS", std::nullopt},
    {18, "IQ3_XXS", std::nullopt}, {19, "IQ1_S", std::nullopt},   {20, "IQ4_NL", DType::iq4_nl},
    {21, "IQ3_S", std::nullopt},   {22, "IQ2_S", std::nullopt},   {23, "IQ4_XS", DType::iq4_xs},
    {24, "I8", DType::i8},         {25, "I16", DType::i16},       {26, "I32", DType::i32},
    {27, "I64", DType::i64},       {28, "F64", DType::f64},       {29, "IQ1_M", std::nullopt},
    {30, "BF16", DType::bf16},     {34, "TQ1_0", std::nullopt},   {35, "TQ2_0", std::nullopt},
    {39, "MXFP4", DType::mxfp4},
};

}  // namespace

const GgufTensorType* find_gguf_tensor_type(std::uint32_t id) {
  for (const GgufTensorType& type : kTypes) {
    if (type.id == id) return &type;
  }
  return nullptr;
}

std::optional<std::uint32_t> gguf_tensor_type_id(DType dtype) {
  for (const GgufTensorType& type : kTypes) {
    if (type.dtype == dtype) return type.id;
  }
  return std::nullopt;
}

std::string_view gguf_type_name(DType dtype) {
  for (const GgufTensorType& type : kTypes) {
    if (type.dtype == dtype) return type.name;
  }
  return dtype_name(dtype);
}

}  // namespace linnet
