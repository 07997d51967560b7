// Microscaled formats (OCP Microscaling Formats 1.0, and NVIDIA's NVFP4): groups of small floats
// that share a scale of one byte. Codes are packed as in packed_codes.h.
//   mxfp4  E2M1, groups of 32, scale E8M0      mxfp8  E4M3, groups of 32, scale E8M0
//   nvfp4  E2M1, groups of 16, scale E4M3
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace linnet {

enum class Microscaling : std::uint8_t { mxfp4, mxfp8, nvfp4 };

struct MicroscalingInfo {
  Microscaling mode;
  std::string_view name;
  int bits;
  std::int64_t group;
};
const MicroscalingInfo& microscaling_info(Microscaling mode);

float e2m1_to_f32(std::uint8_t code);  // 0 to 15
float e4m3_to_f32(std::uint8_t code);  // 0x7F and 0xFF are NaN; the largest is 448
float e8m0_to_f32(std::uint8_t code);  // 2^(code - 127); 255 is NaN
// The nearest code; of two equally near ones the lower magnitude's; beyond the range the largest.
// NaN gives zero for E2M1, which has none, and 0x7F for E4M3.
std::uint8_t f32_to_e2m1(float value);
std::uint8_t f32_to_e4m3(float value);

// Rows of a multiple of the group.
void decode_microscaled(Microscaling mode, std::span<const std::uint32_t> words,
                        std::span<const std::uint8_t> scales, std::span<float> out);
// The scale of a group is 2^(floor(log2(largest)) - 2) for mxfp4, - 8 for mxfp8 (the standard's
// rule), and the E4M3 nearest to largest / 6 for nvfp4.
void encode_microscaled(Microscaling mode, std::span<const float> row,
                        std::span<std::uint32_t> words, std::span<std::uint8_t> scales);

}  // namespace linnet
