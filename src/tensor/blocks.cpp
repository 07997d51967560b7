#include "tensor/blocks.h"

#include <fmt/core.h>

#include <cstring>
#include <string>

#include "base/error.h"
#include "tensor/blocks_256.h"
#include "tensor/blocks_32.h"

namespace linnet {
namespace {

using Decode = void (*)(const std::byte* bytes, float* values, std::int64_t count);
using Encode = void (*)(const float* values, std::byte* bytes, std::int64_t count);

struct Row {
  DType dtype;
  Decode decode;
  Encode encode;  // null: Linnet does not write the format
};

template <typename Format>
void decode_block(const blocks::Parts& parts, float* out) {
  for (int group = 0; group < Format::kValues / Format::kGroup; ++group) {
    const float scale = group_scale<Format>(parts, group);
    const float bias = group_bias<Format>(parts, group);
    for (int i = group * Format::kGroup; i < (group + 1) * Format::kGroup; ++i) {
      out[i] = static_cast<float>(parts.level[i]) * scale;
      if constexpr (Format::kHasBias) out[i] += bias;
    }
  }
}

template <typename Format>
void decode_blocks(const std::byte* bytes, float* values, std::int64_t count) {
  blocks::Parts parts;
  for (std::int64_t i = 0; i < count / Format::kValues; ++i) {
    Format::read(bytes + i * Format::kBytes, parts);
    decode_block<Format>(parts, values + i * Format::kValues);
  }
}

template <typename Format>
void encode_blocks(const float* values, std::byte* bytes, std::int64_t count) {
  for (std::int64_t i = 0; i < count / Format::kValues; ++i) {
    Format::encode(values + i * Format::kValues, bytes + i * Format::kBytes);
  }
}

void decode_f32(const std::byte* bytes, float* values, std::int64_t count) {
  if (count > 0) std::memcpy(values, bytes, static_cast<std::size_t>(count) * sizeof(float));
}
void encode_f32(const float* values, std::byte* bytes, std::int64_t count) {
  if (count > 0) std::memcpy(bytes, values, static_cast<std::size_t>(count) * sizeof(float));
}

void decode_f64(const std::byte* bytes, float* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    double value;
    std::memcpy(&value, bytes + i * 8, sizeof(value));
    values[i] = static_cast<float>(value);
  }
}

template <float (*Convert)(std::uint16_t)>
void decode_half(const std::byte* bytes, float* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint16_t bits;
    std::memcpy(&bits, bytes + i * 2, sizeof(bits));
    values[i] = Convert(bits);
  }
}

template <std::uint16_t (*Convert)(float)>
void encode_half(const float* values, std::byte* bytes, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint16_t bits = Convert(values[i]);
    std::memcpy(bytes + i * 2, &bits, sizeof(bits));
  }
}

constexpr Row kRows[] = {
    {DType::f32, decode_f32, encode_f32},
    {DType::bf16, decode_half<half_bits::bf16_to_f32>, encode_half<half_bits::f32_to_bf16>},
    {DType::f16, decode_half<half_bits::f16_to_f32>, encode_half<half_bits::f32_to_f16>},
    {DType::f64, decode_f64, nullptr},
    {DType::q4_0, decode_blocks<blocks::Q4_0>, encode_blocks<blocks::Q4_0>},
    {DType::q4_1, decode_blocks<blocks::Q4_1>, encode_blocks<blocks::Q4_1>},
    {DType::q5_0, decode_blocks<blocks::Q5_0>, encode_blocks<blocks::Q5_0>},
    {DType::q5_1, decode_blocks<blocks::Q5_1>, encode_blocks<blocks::Q5_1>},
    {DType::q8_0, decode_blocks<blocks::Q8_0>, encode_blocks<blocks::Q8_0>},
    {DType::q2_k, decode_blocks<blocks::Q2_K>, nullptr},
    {DType::q3_k, decode_blocks<blocks::Q3_K>, nullptr},
    {DType::q4_k, decode_blocks<blocks::Q4_K>, nullptr},
    {DType::q5_k, decode_blocks<blocks::Q5_K>, nullptr},
    {DType::q6_k, decode_blocks<blocks::Q6_K>, nullptr},
    {DType::iq4_nl, decode_blocks<blocks::Iq4Nl>, nullptr},
    {DType::iq4_xs, decode_blocks<blocks::Iq4Xs>, nullptr},
    {DType::mxfp4, decode_blocks<blocks::Mxfp4>, encode_blocks<blocks::Mxfp4>},
};

const Row* find_row(DType dtype) {
  for (const Row& row : kRows) {
    if (row.dtype == dtype) return &row;
  }
  return nullptr;
}

}  // namespace

void decode(DType dtype, const std::byte* bytes, float* values, std::int64_t count) {
  const DTypeInfo& info = dtype_info(dtype);
  const Row* row = find_row(dtype);
  if (row == nullptr) {
    fail(ErrorCode::unsupported,
         fmt::format("values of type {} cannot be read as floating-point numbers", info.name));
  }
  LINNET_CHECK(count >= 0 && count % info.block_values == 0, "not a whole number of blocks");
  row->decode(bytes, values, count);
}

void encode(DType dtype, const float* values, std::byte* bytes, std::int64_t count) {
  const DTypeInfo& info = dtype_info(dtype);
  const Row* row = find_row(dtype);
  if (row == nullptr || row->encode == nullptr) {
    fail(ErrorCode::unsupported,
         fmt::format("cannot encode to {}: f32, bf16, f16, q4_0, q4_1, q5_0, q5_1, q8_0 and mxfp4 "
                     "can be written",
                     info.name));
  }
  LINNET_CHECK(count >= 0 && count % info.block_values == 0, "not a whole number of blocks");
  row->encode(values, bytes, count);
}

}  // namespace linnet
