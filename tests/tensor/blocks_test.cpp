#include "tensor/blocks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "tensor/block_reference.h"

namespace linnet {
namespace {

std::vector<std::uint8_t> random_bytes(std::uint64_t seed, std::size_t count) {
  std::vector<std::uint8_t> bytes;
  for (const std::uint32_t word : random_words(RandomKey::from_seed(seed), count)) {
    bytes.push_back(static_cast<std::uint8_t>(word));
  }
  return bytes;
}

std::vector<float> random_values(std::uint64_t seed, std::size_t count) {
  std::vector<float> values;
  for (const std::uint32_t word : random_words(RandomKey::from_seed(seed), count)) {
    values.push_back(static_cast<float>(static_cast<std::int32_t>(word)) * 0x1p-31f);
  }
  return values;
}

std::vector<float> decoded(DType dtype, const std::vector<std::uint8_t>& bytes) {
  const DTypeInfo& info = dtype_info(dtype);
  std::vector<float> values(bytes.size() / static_cast<std::size_t>(info.block_bytes) *
                            static_cast<std::size_t>(info.block_values));
  decode(dtype, reinterpret_cast<const std::byte*>(bytes.data()), values.data(),
         static_cast<std::int64_t>(values.size()));
  return values;
}

std::vector<float> there_and_back(DType dtype, const std::vector<float>& values) {
  const DTypeInfo& info = dtype_info(dtype);
  std::vector<std::uint8_t> bytes(values.size() / static_cast<std::size_t>(info.block_values) *
                                  static_cast<std::size_t>(info.block_bytes));
  encode(dtype, values.data(), reinterpret_cast<std::byte*>(bytes.data()),
         static_cast<std::int64_t>(values.size()));
  return decoded(dtype, bytes);
}

bool same(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

TEST_CASE("random blocks decode to the values of a second definition") {
  for (const reference::Format& format : reference::kFormats) {
    const DTypeInfo& info = dtype_info(format.dtype);
    CAPTURE(info.name);
    const auto block_bytes = static_cast<std::size_t>(info.block_bytes);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const auto bytes = random_bytes(seed, 3 * block_bytes);
      const auto values = decoded(format.dtype, bytes);
      int wrong = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto block = i / static_cast<std::size_t>(info.block_values);
        const int place = static_cast<int>(i % static_cast<std::size_t>(info.block_values));
        wrong += !same(values[i], format.value(bytes.data() + block * block_bytes, place));
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("every scale byte of mxfp4 is a power of two") {
  for (int scale = 0; scale < 256; ++scale) {
    std::vector<std::uint8_t> block(17, 0x22);  // all codes 2: the value 1
    block[0] = static_cast<std::uint8_t>(scale);
    CHECK(decoded(DType::mxfp4, block)[5] == std::ldexp(1.0f, scale - 127));
  }
}

TEST_CASE("decoding does not need aligned bytes") {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64, DType::q5_1}) {
    const auto size = static_cast<std::size_t>(dtype_info(dtype).block_bytes);
    const auto bytes = random_bytes(7, size);
    std::vector<std::uint8_t> shifted(size + 1);
    std::memcpy(shifted.data() + 1, bytes.data(), size);
    const auto expected = decoded(dtype, bytes);
    std::vector<float> got(expected.size());
    decode(dtype, reinterpret_cast<const std::byte*>(shifted.data() + 1), got.data(),
           static_cast<std::int64_t>(got.size()));
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(same(got[i], expected[i]));
  }
}

TEST_CASE("encoding is off by half a step at most") {
  struct Row {
    DType dtype;
    double levels;     // steps over the whole range
    bool has_minimum;  // else the range is twice the peak, and the top level may be cut
    double steps;      // allowed error
  };
  const Row rows[] = {
      {DType::q4_0, 16, false, 1.0}, {DType::q4_1, 15, true, 0.5},   {DType::q5_0, 32, false, 1.0},
      {DType::q5_1, 31, true, 0.5},  {DType::q8_0, 254, false, 0.5},
  };
  for (const Row& row : rows) {
    CAPTURE(dtype_name(row.dtype));
    const auto values = random_values(3, 32 * 64);
    const auto back = there_and_back(row.dtype, values);
    int wrong = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float* block = values.data() + i / 32 * 32;
      const auto [low, high] = std::minmax_element(block, block + 32);
      const double peak = std::max(std::fabs(*low), std::fabs(*high));
      const double range = row.has_minimum ? *high - *low : 2 * peak;
      // Scale and minimum are rounded to f16: up to 2^-11 of themselves.
      const double slack = (peak + range) * 0x1p-11;
      wrong += std::fabs(values[i] - back[i]) > range / row.levels * row.steps + slack;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("encoding keeps what the format can hold exactly") {
  std::vector<float> values(32);
  for (int i = 0; i < 32; ++i)
    values[static_cast<std::size_t>(i)] = static_cast<float>(i % 16 - 8) * 0.25f;
  CHECK(there_and_back(DType::q4_0, values) == values);
  for (int i = 0; i < 32; ++i)
    values[static_cast<std::size_t>(i)] = static_cast<float>(i % 16) * 0.5f - 2;
  CHECK(there_and_back(DType::q4_1, values) == values);
  for (int i = 0; i < 32; ++i)
    values[static_cast<std::size_t>(i)] = static_cast<float>(i - 16) * 0.5f;
  CHECK(there_and_back(DType::q5_0, values) == values);
  for (int i = 0; i < 32; ++i)
    values[static_cast<std::size_t>(i)] = static_cast<float>(i) * 0.5f - 4;
  CHECK(there_and_back(DType::q5_1, values) == values);
  for (int i = 0; i < 32; ++i)
    values[static_cast<std::size_t>(i)] = static_cast<float>(i * 8 - 127);
  CHECK(there_and_back(DType::q8_0, values) == values);
  const float mx[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.5, -1, -1.5, -2, -3, -4, -6, 0};
  for (std::size_t i = 0; i < 32; ++i) values[i] = mx[i % 16] * 8;
  CHECK(there_and_back(DType::mxfp4, values) == values);
}

TEST_CASE("encoding survives zeros, NaN, infinity and denormals") {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::q4_0, DType::q4_1,
                            DType::q5_0, DType::q5_1, DType::q8_0, DType::mxfp4}) {
    CAPTURE(dtype_name(dtype));
    CHECK(there_and_back(dtype, std::vector<float>(64)) == std::vector<float>(64));
    for (const float odd : {NAN, INFINITY, -INFINITY, 3e38f, 1e-45f, -1e-40f}) {
      std::vector<float> values(64);
      values[3] = odd;
      const auto back = there_and_back(dtype, values);
      // The other block is not touched by it.
      CHECK(back[40] == 0.0f);
    }
  }
}

TEST_CASE("types that cannot be read or written are refused by name") {
  std::vector<float> values(256);
  std::vector<std::byte> bytes(2048);
  for (const DType dtype : {DType::i32, DType::u8, DType::boolean}) {
    CHECK_THROWS_WITH_AS(decode(dtype, bytes.data(), values.data(), 256),
                         doctest::Contains(std::string(dtype_name(dtype)).c_str()), Error);
  }
  for (const DType dtype : {DType::q4_k, DType::iq4_xs, DType::i8, DType::f64}) {
    CHECK_THROWS_WITH_AS(encode(dtype, values.data(), bytes.data(), 256),
                         doctest::Contains(std::string(dtype_name(dtype)).c_str()), Error);
  }
  CHECK_THROWS_AS(decode(DType::q4_0, bytes.data(), values.data(), 33), std::logic_error);
}

}  // namespace linnet
