// Quantized rows and tensors: affine codes, microscaled floats, NF4, and Linnet's own I8 and N4.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "tensor/affine.h"
#include "tensor/dtype.h"
#include "tensor/microscaling.h"
#include "tensor/nf4.h"
#include "tensor/packed_codes.h"
#include "tensor/quantized_rows.h"

using namespace linnet;

namespace {

std::vector<float> normals(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 1);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

std::string hex(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) {
    for (const int nibble : {byte >> 4, byte & 15}) text += "0123456789abcdef"[nibble];
  }
  return text;
}

double relative_error(std::span<const float> got, std::span<const float> want) {
  double error = 0, power = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    error += std::pow(static_cast<double>(got[i]) - want[i], 2);
    power += static_cast<double>(want[i]) * want[i];
  }
  return std::sqrt(error / power);
}

}  // namespace

TEST_CASE("codes of every width survive packing, straddling words or not") {
  std::mt19937 random(1);
  for (const int bits : {2, 3, 4, 6, 8}) {
    std::vector<std::uint8_t> codes(96), back(96);
    for (auto& code : codes) code = static_cast<std::uint8_t>(random() & ((1u << bits) - 1));
    std::vector<std::uint32_t> words(static_cast<std::size_t>(packed_words(96, bits)));
    pack_codes(codes, bits, words);
    unpack_codes(words, bits, back);
    CHECK(back == codes);
  }
  std::vector<std::uint32_t> word(1);
  pack_codes(std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6, 7, 8}, 4, word);
  CHECK(word[0] == 0x87654321u);
}

TEST_CASE("affine: a code is at most half a step away, zero stays zero") {
  for (const int bits : {2, 3, 4, 6, 8}) {
    const AffineFormat format{bits, 32};
    std::vector<float> row = normals(128, 2), decoded(128), scales(4), biases(4);
    row[40] = 0;
    std::vector<std::uint32_t> words(static_cast<std::size_t>(packed_words(128, bits)));
    encode_affine(format, row, words, scales, biases);
    decode_affine(format, {words, scales, biases}, decoded);
    for (std::size_t i = 0; i < row.size(); ++i) {
      // The end that was not made exact may be cut off by up to another half step.
      CHECK(std::fabs(decoded[i] - row[i]) <= 1.01f * std::fabs(scales[i / 32]));
    }
  }
  CHECK_THROWS_WITH_AS((AffineFormat{5, 64}.check(64)), doctest::Contains("5 bits"), Error);
  CHECK_THROWS_WITH_AS((AffineFormat{4, 64}.check(100)), doctest::Contains("100"), Error);
}

TEST_CASE("small floats: every code is its own nearest, ties go to the smaller magnitude") {
  for (int code = 0; code < 256; ++code) {
    const auto byte = static_cast<std::uint8_t>(code);
    const float value = e4m3_to_f32(byte);
    if (std::isnan(value)) continue;
    CHECK(f32_to_e4m3(value) == (byte == 0x80 ? 0 : byte));
  }
  CHECK(f32_to_e4m3(1e9f) == 0x7E);
  CHECK(f32_to_e4m3(-std::numeric_limits<float>::infinity()) == 0xFE);
  CHECK(e4m3_to_f32(0x7E) == 448.0f);
  CHECK(f32_to_e2m1(2.5f) == f32_to_e2m1(2.0f));
  CHECK(f32_to_e2m1(-100.0f) == 15);
  CHECK(f32_to_e2m1(std::numeric_limits<float>::quiet_NaN()) == 0);
  CHECK(e8m0_to_f32(127) == 1.0f);
  CHECK(e8m0_to_f32(0) == std::ldexp(1.0f, -127));
  CHECK(std::isnan(e8m0_to_f32(255)));
}

TEST_CASE("microscaled rows come back within their step, zeros as zeros") {
  for (const auto& [mode, most] : {std::pair{Microscaling::mxfp4, 0.15},
                                   {Microscaling::mxfp8, 0.04},
                                   {Microscaling::nvfp4, 0.11}}) {
    const MicroscalingInfo& info = microscaling_info(mode);
    std::vector<float> row = normals(256, 3), decoded(256);
    std::fill(row.begin() + 64, row.begin() + 96, 0.0f);
    std::vector<std::uint32_t> words(static_cast<std::size_t>(packed_words(256, info.bits)));
    std::vector<std::uint8_t> scales(static_cast<std::size_t>(256 / info.group));
    encode_microscaled(mode, row, words, scales);
    decode_microscaled(mode, words, scales, decoded);
    CHECK(relative_error(decoded, row) < most);
    for (int i = 64; i < 96; ++i) CHECK(decoded[static_cast<std::size_t>(i)] == 0.0f);
  }
}

TEST_CASE("NF4: the two vectors that bitsandbytes' users know") {
  std::vector<float> first(64), second(64);
  for (int i = 0; i < 64; ++i) {
    first[static_cast<std::size_t>(i)] = static_cast<float>(i - 32) / 32.0f;
    second[static_cast<std::size_t>(i)] = static_cast<float>(i - 20) * 0.037f;
  }
  const Nf4Tensor a = encode_nf4(first), b = encode_nf4(second);
  CHECK(a.absmax == std::vector<float>{1.0f});
  CHECK(hex(a.packed) == "000001111111122222333344455566677788999aaabbbccccddddeeeeeeeffff");
  CHECK(b.absmax[0] == doctest::Approx(1.59100008));
  CHECK(hex(b.packed) == "23333344445555566667778888999aaaabbbbcccccddddddeeeeeeeeeeffffff");
}

TEST_CASE("NF4: the error of normal numbers is what the theory says, with and without nesting") {
  const std::vector<float> values = normals(1 << 20, 4);
  const Nf4Tensor encoded = encode_nf4(values);
  std::vector<float> decoded(values.size());
  const auto mean_error = [&] {
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) sum += std::fabs(decoded[i] - values[i]);
    return sum / static_cast<double>(values.size());
  };
  decode_nf4(encoded.packed, encoded.absmax, 64, decoded);
  CHECK(mean_error() == doctest::Approx(0.0728).epsilon(0.01));
  const NestedScales nested = encode_nested(encoded.absmax);
  decode_nf4(encoded.packed, decode_nested(nested.codes, nested.absmax, nested.offset), 64,
             decoded);
  CHECK(mean_error() == doctest::Approx(0.0728).epsilon(0.01));
}

TEST_CASE("NF4: odd lengths, zero blocks and block sizes") {
  const Nf4Tensor odd = encode_nf4(normals(65, 5));
  CHECK(odd.packed.size() == 33);
  CHECK(odd.absmax.size() == 2);
  CHECK((odd.packed.back() & 15) == 7);
  const Nf4Tensor zeros = encode_nf4(std::vector<float>(64, 0.0f));
  CHECK(zeros.absmax == std::vector<float>{0.0f});
  CHECK(zeros.packed == std::vector<std::uint8_t>(32, 0x77));
  CHECK(encode_nf4({}).packed.empty());
  for (const std::int64_t block : {0, 48, 16, 8192}) {
    CHECK_THROWS_WITH_AS(encode_nf4(normals(64, 6), block), doctest::Contains("power of two"),
                         Error);
  }
}

TEST_CASE("the dynamic map has its published levels") {
  const auto levels = dynamic_levels();
  double sum = 0;
  for (const float level : levels) sum += level;
  CHECK(sum == doctest::Approx(1.0));
  CHECK(levels[0] == doctest::Approx(-0.99296874));
  CHECK(levels[127] == 0.0f);
  CHECK(levels[128] == doctest::Approx(5.5e-7));
  CHECK(levels[190] == doctest::Approx(0.09859375));
  CHECK(levels[255] == 1.0f);
}

TEST_CASE("I8 and N4 come back within their steps") {
  for (const std::size_t width : {32u, 37u, 576u}) {
    const std::vector<float> row = normals(width, 7);
    std::vector<float> decoded(width);
    I8Row bytes;
    encode_i8(row, bytes);
    decode_i8(bytes, decoded.data());
    for (std::size_t i = 0; i < width; ++i) {
      CHECK(std::fabs(decoded[i] - row[i]) <= 0.51f * bytes.scale);
    }
    N4Row codes;
    encode_n4(row, {}, codes);
    decode_n4(codes, decoded.data());
    CHECK(codes.groups.size() == (width + 31) / 32);
    CHECK(relative_error(decoded, row) < 0.1);
    CHECK(f16_to_f32(f32_to_f16(codes.scale)) == codes.scale);
  }
}

TEST_CASE("S6 comes back within its step, by the nearest codes") {
  for (const std::size_t width : {64u, 37u, 576u, 4096u}) {
    const std::vector<float> row = normals(width, 7);
    std::vector<float> decoded(width);
    S6Row codes;
    encode_s6(row, {}, codes);
    decode_s6(codes, decoded.data());
    CHECK(codes.groups.size() == (width + 63) / 64);
    CHECK(relative_error(decoded, row) < 0.035);
    CHECK(f16_to_f32(f32_to_f16(codes.scale)) == codes.scale);
    for (std::size_t i = 0; i < width; ++i) {
      const std::int8_t c = codes.groups[i / 64];
      for (int code = -32; code < 32; ++code) {
        const float other = codes.scale * static_cast<float>(s6_byte(code, c));
        CHECK(std::fabs(decoded[i] - row[i]) <= std::fabs(other - row[i]) * 1.0001f);
      }
    }
  }
  S6Row codes;
  std::vector<float> zeros(70), decoded(70, 1.0f);
  encode_s6(zeros, {}, codes);
  decode_s6(codes, decoded.data());
  CHECK(decoded == zeros);
  for (int c = -127; c <= 127; ++c) {
    for (int code = -32; code < 32; ++code) {
      const double exact = std::floor(code * c / 32.0 + 0.5);
      CHECK(s6_byte(code, static_cast<std::int8_t>(c)) == exact);
    }
  }
}

TEST_CASE("I8 and N4: zeros, a single large value, importance") {
  const std::vector<float> zeros(64, 0.0f);
  std::vector<float> decoded(64, 1.0f);
  N4Row codes;
  encode_n4(zeros, {}, codes);
  decode_n4(codes, decoded.data());
  CHECK(decoded == zeros);
  I8Row bytes;
  encode_i8(zeros, bytes);
  decode_i8(bytes, decoded.data());
  CHECK(decoded == zeros);

  // What matters is kept better than what does not.
  const std::vector<float> row = normals(4096, 8);
  std::vector<float> importance(4096), plain(4096), weighted(4096);
  for (std::size_t i = 0; i < 4096; ++i) importance[i] = i % 4 == 0 ? 10.0f : 0.1f;
  N4Row with;
  encode_n4(row, {}, codes);
  encode_n4(row, importance, with);
  decode_n4(codes, plain.data());
  decode_n4(with, weighted.data());
  double plain_error = 0, weighted_error = 0;
  for (std::size_t i = 0; i < 4096; ++i) {
    plain_error += importance[i] * std::pow(plain[i] - row[i], 2);
    weighted_error += importance[i] * std::pow(weighted[i] - row[i], 2);
  }
  CHECK(weighted_error < plain_error);
}

namespace {

// What encode_n4 is to give, one candidate and one code after the other.
N4Row slow_n4(const std::vector<float>& row, const std::vector<float>& importance) {
  const auto nearest = [](float x) {
    int index = 0;
    for (int i = 0; i < 15; ++i) {
      index += x > 0.5f * static_cast<float>(kN4Levels[i] + kN4Levels[i + 1]);
    }
    return static_cast<float>(kN4Levels[index]);
  };
  N4Row out;
  std::vector<float> scales;
  float largest = 0;
  for (std::size_t first = 0; first < row.size(); first += 32) {
    const std::size_t end = std::min(first + 32, row.size());
    float extreme = 0, best = 0, gain = -1;
    for (std::size_t i = first; i < end; ++i) {
      if (std::fabs(row[i]) > std::fabs(extreme)) extreme = row[i];
    }
    for (const float shrink : {1.05f, 1.0f, 0.95f, 0.9f, 0.85f, 0.8f, 0.72f}) {
      for (const float sign : {1.0f, -1.0f}) {
        const float inverse = 1.0f / (sign * shrink * extreme / -127.0f);
        float a = 0, b = 0;
        for (std::size_t i = first; i < end && extreme != 0; ++i) {
          const float level = nearest(row[i] * inverse);
          const float u = importance.empty() ? 1.0f : importance[i];
          a += u * row[i] * level;
          b += u * level * level;
        }
        if (b > 0 && a * a / b > gain) gain = a * a / b, best = a / b;
      }
    }
    scales.push_back(best);
    largest = std::max(largest, std::fabs(best));
  }
  out.scale = f16_to_f32(f32_to_f16(128.0f * largest / 127.0f));
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (i % 32 == 0) {
      const float c = std::nearbyint(128.0f * scales[i / 32] / out.scale);
      out.groups.push_back(static_cast<std::int8_t>(std::clamp(c, -127.0f, 127.0f)));
    }
    int best = 0;
    const auto away = [&](int code) {
      return std::fabs(row[i] / out.scale - static_cast<float>(n4_byte(code, out.groups.back())));
    };
    for (int code = 1; code < 16; ++code) best = away(code) < away(best) ? code : best;
    out.codes.push_back(static_cast<std::uint8_t>(best));
  }
  return out;
}

}  // namespace

TEST_CASE("N4: the search side by side chooses what the search in turn does") {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::vector<float> row = normals(seed % 3 == 0 ? 70 + seed : 256, seed), importance;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (seed % 2 == 0) importance.push_back(std::exp(2 * normals(1, seed + 77)[0]) + 0.01f * i);
      if (seed % 5 == 1) row[i] = std::round(3 * row[i]) / 3;  // ties
      if (seed % 7 == 2 && i / 32 == 1) row[i] = 0;            // a group of zeros
    }
    N4Row codes;
    encode_n4(row, importance, codes);
    const N4Row expected = slow_n4(row, importance);
    CAPTURE(seed);
    CHECK(codes.scale == expected.scale);
    CHECK(codes.groups == expected.groups);
    CHECK(codes.codes == expected.codes);
  }
}
