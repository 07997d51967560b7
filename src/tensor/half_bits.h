// The 16-bit float conversions as inline functions, for loops that must vectorise. Internal to the
// room: everyone else calls dtype.h, so that no file built for a wider instruction set emits them.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace linnet::half_bits {

inline float bf16_to_f32(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// Without branches, and without denormal operands, which some processors handle slowly.
inline float f16_to_f32(std::uint16_t bits) {
  constexpr std::uint32_t kBias = 112u << 23;  // 127 - 15
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  const std::uint32_t rest = bits & 0x7fffu;
  const float denormal = static_cast<float>(static_cast<std::int32_t>(rest)) * 0x1p-24f;
  const std::uint32_t normal = (rest << 13) + kBias + (rest >= 0x7c00u ? kBias : 0u);
  const std::uint32_t value = rest < 0x0400u ? std::bit_cast<std::uint32_t>(denormal) : normal;
  return std::bit_cast<float>(sign | value);
}

inline std::uint16_t f32_to_bf16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  // Rounding could carry a NaN with a small payload into infinity.
  const std::uint32_t quiet = (bits >> 16) | 0x0040u;
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

inline std::uint16_t f32_to_f16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t rest = bits & 0x7fffffffu;
  std::uint32_t half;
  if (rest > 0x7f800000u) {
    half = 0x7e00u | ((rest >> 13) & 0x3ffu);
  } else if (rest >= 0x47800000u) {  // 65536 and more, infinity
    half = 0x7c00u;
  } else if (rest < 0x38800000u) {  // below 2^-14: the sum with 0.5 rounds to units of 2^-24
    half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest) + 0.5f) - 0x3f000000u;
  } else {
    half = (rest - (112u << 23) + 0x0fffu + ((rest >> 13) & 1u)) >> 13;
  }
  return static_cast<std::uint16_t>(sign | half);
}

inline float load_f16(const std::byte* bytes) {
  std::uint16_t bits;
  std::memcpy(&bits, bytes, sizeof(bits));
  return f16_to_f32(bits);
}

inline void store_f16(std::byte* bytes, float value) {
  const std::uint16_t bits = f32_to_f16(value);
  std::memcpy(bytes, &bits, sizeof(bits));
}

}  // namespace linnet::half_bits
