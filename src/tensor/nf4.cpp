#include "tensor/nf4.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "tensor/nf4_levels.h"

namespace linnet {
namespace {

// Below this an absmax counts as zero: the reciprocal would leave the range.
constexpr float kSmallest = 1e-38f;

template <std::size_t N>
std::array<float, N - 1> middles_of(std::span<const float, N> levels) {
  std::array<float, N - 1> middles;
  for (std::size_t i = 0; i + 1 < N; ++i) middles[i] = (levels[i] + levels[i + 1]) * 0.5f;
  return middles;
}

// How many middles lie strictly below x; NaN counts as above all.
template <std::size_t N>
std::uint8_t nearest(const std::array<float, N>& middles, float x) {
  if (std::isnan(x)) return static_cast<std::uint8_t>(N);
  return static_cast<std::uint8_t>(std::lower_bound(middles.begin(), middles.end(), x) -
                                   middles.begin());
}

// Point `i` of `count` even ones on [0.1, 1], from the nearer end and rounded once, as
// torch.linspace does it.
float even_point(int i, int count) {
  const float low = 0.1f, high = 1.0f;
  const float step = (high - low) / static_cast<float>(count - 1);
  return i < count / 2 ? std::fma(step, static_cast<float>(i), low)
                       : std::fma(-step, static_cast<float>(count - 1 - i), high);
}

// In f32 throughout, like the library's own: the last bits are part of the format.
std::array<float, 256> make_dynamic_levels() {
  constexpr float kPowers[7] = {1e-6f, 1e-5f, 1e-4f, 1e-3f, 1e-2f, 1e-1f, 1.0f};
  std::array<float, 256> levels;
  std::size_t count = 0;
  for (int i = 0; i < 7; ++i) {
    const int bins = 1 << i;
    for (int bin = 0; bin < bins; ++bin) {
      const float middle = (even_point(bin, bins + 1) + even_point(bin + 1, bins + 1)) / 2.0f;
      levels[count++] = middle * kPowers[i];
      levels[count++] = -(middle * kPowers[i]);
    }
  }
  levels[count++] = 0.0f;
  levels[count++] = 1.0f;
  LINNET_CHECK(count == levels.size());
  std::sort(levels.begin(), levels.end());
  return levels;
}

const std::array<float, 256>& dynamic_map() {
  static const std::array<float, 256> levels = make_dynamic_levels();
  return levels;
}

// NaN when one is among them.
float largest_magnitude(std::span<const float> values) {
  float largest = 0;
  for (const float value : values) {
    if (std::isnan(value)) return std::numeric_limits<float>::quiet_NaN();
    largest = std::max(largest, std::fabs(value));
  }
  return largest;
}

}  // namespace

std::span<const float> nf4_levels() { return kNf4Levels; }
std::span<const float> dynamic_levels() { return dynamic_map(); }

void check_nf4_block(std::int64_t block) {
  if (block >= 32 && block <= 4096 && (block & (block - 1)) == 0) return;
  fail(ErrorCode::invalid_argument,
       fmt::format("NF4 blocks of {}: a power of two from 32 to 4096 is expected", block));
}

Nf4Tensor encode_nf4(std::span<const float> values, std::int64_t block) {
  check_nf4_block(block);
  static const std::array<float, 15> middles = middles_of(std::span(kNf4Levels));
  Nf4Tensor out;
  out.block = block;
  out.count = static_cast<std::int64_t>(values.size());
  out.packed.assign((values.size() + 1) / 2, 0x07);
  const auto size = static_cast<std::size_t>(block);
  for (std::size_t first = 0; first < values.size(); first += size) {
    const auto part = values.subspan(first, std::min(size, values.size() - first));
    const bool is_full = part.size() == size;
    const float absmax = largest_magnitude(part);
    // Written so that NaN stays NaN.
    const float divisor = absmax < kSmallest ? kSmallest : absmax;
    out.absmax.push_back(is_full ? absmax : divisor);
    const float reciprocal = 1.0f / divisor;
    for (std::size_t i = 0; i < part.size(); ++i) {
      const float x = is_full ? part[i] * reciprocal : part[i] / divisor;
      const std::uint8_t code = nearest(middles, x);
      std::uint8_t& byte = out.packed[(first + i) / 2];
      byte = static_cast<std::uint8_t>((first + i) % 2 == 0 ? (byte & 0x0F) | code << 4
                                                            : (byte & 0xF0) | code);
    }
  }
  return out;
}

void decode_nf4(std::span<const std::uint8_t> packed, std::span<const float> absmax,
                std::int64_t block, std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = kNf4Levels[nf4_code(packed, i)] * absmax[i / static_cast<std::size_t>(block)];
  }
}

NestedScales encode_nested(std::span<const float> absmax) {
  double sum = 0;
  for (const float value : absmax) sum += value;
  const auto count = static_cast<double>(std::max<std::size_t>(1, absmax.size()));
  return encode_nested(absmax, static_cast<float>(sum / count));
}

NestedScales encode_nested(std::span<const float> absmax, float offset) {
  static const std::array<float, 255> middles = middles_of(std::span(dynamic_map()));
  NestedScales out;
  out.offset = offset;
  std::vector<float> centred(absmax.begin(), absmax.end());
  for (float& value : centred) value -= offset;
  const auto size = static_cast<std::size_t>(NestedScales::kBlock);
  for (std::size_t first = 0; first < centred.size(); first += size) {
    const auto part = std::span(centred).subspan(first, std::min(size, centred.size() - first));
    float largest = 0;  // of the numbers among them
    for (const float value : part) largest = std::max(largest, std::fabs(value));
    out.absmax.push_back(largest);
    for (const float value : part) {
      // Of a block of zeros any code decodes to zero; bitsandbytes writes 0.
      out.codes.push_back(largest > 0 ? nearest(middles, value * (1.0f / largest)) : 0);
    }
  }
  return out;
}

std::vector<float> decode_nested(std::span<const std::uint8_t> codes, std::span<const float> absmax,
                                 float offset) {
  std::vector<float> out(codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const float scale = absmax[i / static_cast<std::size_t>(NestedScales::kBlock)];
    out[i] = dynamic_map()[codes[i]] * scale + offset;
  }
  return out;
}

}  // namespace linnet
