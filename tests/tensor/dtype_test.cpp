#include "tensor/dtype.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace linnet {
namespace {

// The value of an f16 by its definition, in double.
double f16_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  const double sign = bits & 0x8000 ? -1.0 : 1.0;
  if (exponent == 31) return mantissa == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

}  // namespace

TEST_CASE("every f16 has the value of its definition and survives the way back") {
  int wrong = 0;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const double expected = f16_value(half);
    const float got = f16_to_f32(half);
    if (std::isnan(expected)) {
      wrong += !std::isnan(got) || !std::isnan(f16_to_f32(f32_to_f16(got)));
    } else {
      wrong += static_cast<double>(got) != expected || std::signbit(got) != std::signbit(expected);
      wrong += f32_to_f16(got) != half;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("f32 to f16 rounds to nearest, ties to even") {
  int wrong = 0;
  // Between each two neighbours: the middle goes to the even one, what is beside it to the nearer.
  for (std::uint16_t bits = 0; bits < 0x7bff; ++bits) {
    const auto next = static_cast<std::uint16_t>(bits + 1);
    const auto middle = static_cast<float>((f16_value(bits) + f16_value(next)) / 2);
    wrong += f32_to_f16(middle) != (bits % 2 == 0 ? bits : next);
    wrong += f32_to_f16(std::nextafter(middle, 0.0f)) != bits;
    wrong += f32_to_f16(std::nextafter(middle, INFINITY)) != next;
    wrong += f32_to_f16(-middle) != (0x8000 | (bits % 2 == 0 ? bits : next));
  }
  CHECK(wrong == 0);
  CHECK(f32_to_f16(65519.996f) == 0x7bff);
  CHECK(f32_to_f16(65520.0f) == 0x7c00);
  CHECK(f32_to_f16(3e38f) == 0x7c00);
  CHECK(f32_to_f16(-INFINITY) == 0xfc00);
  CHECK(f32_to_f16(std::numeric_limits<float>::denorm_min()) == 0);
  CHECK(f32_to_f16(-0.0f) == 0x8000);
}

TEST_CASE("bf16 is the upper half of an f32") {
  CHECK(bf16_to_f32(0x3f80) == 1.0f);
  CHECK(bf16_to_f32(0x0001) == std::ldexp(1.0f, -133));  // a denormal
  CHECK(std::isnan(bf16_to_f32(0x7fff)));
  CHECK(bf16_to_f32(0x7f80) == INFINITY);
  CHECK(std::signbit(bf16_to_f32(0x8000)));
  CHECK(bf16_to_f32(0x8000) == 0.0f);
}

TEST_CASE("f32 to bf16 rounds to nearest, ties to even, and keeps NaN") {
  CHECK(f32_to_bf16(1.0f) == 0x3f80);
  CHECK(f32_to_bf16(std::bit_cast<float>(0x3f808000u)) == 0x3f80);  // a tie, down to even
  CHECK(f32_to_bf16(std::bit_cast<float>(0x3f818000u)) == 0x3f82);  // a tie, up to even
  CHECK(f32_to_bf16(std::bit_cast<float>(0x3f808001u)) == 0x3f81);
  CHECK(f32_to_bf16(std::bit_cast<float>(0x3f807fffu)) == 0x3f80);
  CHECK(f32_to_bf16(std::numeric_limits<float>::max()) == 0x7f80);
  CHECK(f32_to_bf16(std::bit_cast<float>(0x00000001u)) == 0);
  // All of the payload lies in the half that is cut off.
  CHECK(std::isnan(bf16_to_f32(f32_to_bf16(std::bit_cast<float>(0x7f800001u)))));
  CHECK(std::isnan(bf16_to_f32(f32_to_bf16(std::bit_cast<float>(0xffffffffu)))));
}

TEST_CASE("names and block sizes") {
  struct Row {
    const char* name;
    std::int64_t values, bytes;
  };
  const Row rows[] = {
      {"f32", 1, 4},      {"bf16", 1, 2},       {"f16", 1, 2},      {"f64", 1, 8},
      {"i64", 1, 8},      {"bool", 1, 1},       {"q4_0", 32, 18},   {"q4_1", 32, 20},
      {"q5_0", 32, 22},   {"q5_1", 32, 24},     {"q8_0", 32, 34},   {"q2_k", 256, 84},
      {"q3_k", 256, 110}, {"q4_k", 256, 144},   {"q5_k", 256, 176}, {"q6_k", 256, 210},
      {"iq4_nl", 32, 18}, {"iq4_xs", 256, 136}, {"mxfp4", 32, 17},
  };
  for (const Row& row : rows) {
    const auto dtype = dtype_from_name(row.name);
    REQUIRE(dtype.has_value());
    CHECK(dtype_name(*dtype) == row.name);
    CHECK(dtype_info(*dtype).block_values == row.values);
    CHECK(dtype_info(*dtype).block_bytes == row.bytes);
    CHECK(dtype_info(*dtype).plain() == (row.values == 1));
  }
  CHECK_FALSE(dtype_from_name("Q4_K").has_value());
  CHECK_FALSE(dtype_from_name("").has_value());
}

}  // namespace linnet
