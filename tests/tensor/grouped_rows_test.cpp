// Grouped rows against the formats' own decoding: level * scale + bias has the same bits.
#include "tensor/grouped_rows.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "tensor/blocks.h"

namespace linnet {
namespace {

constexpr std::int64_t kWidth = 512;

std::vector<std::byte> random_bytes(std::uint64_t seed, std::size_t count) {
  std::vector<std::byte> bytes;
  for (const std::uint32_t word : random_words(RandomKey::from_seed(seed), count)) {
    bytes.push_back(static_cast<std::byte>(word & 255));
  }
  return bytes;
}

std::vector<float> random_values(std::uint64_t seed) {
  std::vector<float> values;
  for (const std::uint32_t word :
       random_words(RandomKey::from_seed(seed), static_cast<std::size_t>(kWidth))) {
    values.push_back(static_cast<float>(static_cast<std::int32_t>(word)) * 0x1p-31f);
  }
  return values;
}

std::vector<float> values_of(const GroupedFormat& format, const GroupedRow& row) {
  std::vector<float> values;
  for (std::size_t i = 0; i < row.levels.size(); ++i) {
    const std::size_t g = i / static_cast<std::size_t>(format.group);
    const float product = static_cast<float>(row.levels[i]) * row.scales[g];
    values.push_back(format.has_bias ? product + row.biases[g] : product);
  }
  return values;
}

// NaN equals NaN, whatever its bits; zeros are equal, whatever their sign.
bool same_values(const std::vector<float>& a, const std::vector<float>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](float x, float y) { return x == y || (x != x && y != y); });
}

void check_form(const GroupedFormat& format, const GroupedRow& row) {
  const auto groups = row.levels.size() / static_cast<std::size_t>(format.group);
  CHECK(row.scales.size() == groups);
  CHECK(row.biases.size() == (format.has_bias ? groups : 0));
  for (const int level : row.levels) {
    CHECK(level >= format.zero - 128);
    CHECK(level <= format.zero + 127);
    if (!format.has_table) continue;
    CHECK(std::count(format.table.begin(), format.table.end(), level) > 0);
  }
  for (std::size_t g = 0; g < groups; ++g) {
    const float scale = row.scales[g];
    if (scale != scale) continue;
    if (format.scale == GroupScale::f16) CHECK(f16_to_f32(f32_to_f16(scale)) == scale);
    if (format.scale == GroupScale::bf16) CHECK(bf16_to_f32(f32_to_bf16(scale)) == scale);
    if (format.scale != GroupScale::product) continue;
    const std::size_t span = g * static_cast<std::size_t>(format.group) / kGroupSpan;
    CHECK(row.scale_units[span] * static_cast<float>(row.scale_factors[g]) == scale);
    CHECK(f16_to_f32(f32_to_f16(row.scale_units[span])) == row.scale_units[span]);
    if (!format.has_bias) continue;
    const float bias = row.bias_units[span] * static_cast<float>(row.bias_factors[g]);
    CHECK((bias == row.biases[g] || bias != bias));
  }
}

constexpr DType kBlocks[] = {DType::q4_0,   DType::q4_1,   DType::q5_0, DType::q5_1, DType::q8_0,
                             DType::q2_k,   DType::q3_k,   DType::q4_k, DType::q5_k, DType::q6_k,
                             DType::iq4_nl, DType::iq4_xs, DType::mxfp4};

GroupedRow random_blocks(DType dtype, std::uint64_t seed) {
  const DTypeInfo& info = dtype_info(dtype);
  const auto bytes =
      random_bytes(seed, static_cast<std::size_t>(kWidth / info.block_values * info.block_bytes));
  GroupedRow row;
  read_grouped(dtype, bytes.data(), kWidth, row);
  return row;
}

}  // namespace

TEST_CASE("every GGUF block is levels, scales and biases that give its values") {
  for (const DType dtype : kBlocks) {
    CAPTURE(dtype_name(dtype));
    const DTypeInfo& info = dtype_info(dtype);
    const auto format = grouped_format(dtype);
    REQUIRE(format);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const auto bytes = random_bytes(
          seed, static_cast<std::size_t>(kWidth / info.block_values * info.block_bytes));
      std::vector<float> expected(static_cast<std::size_t>(kWidth));
      decode(dtype, bytes.data(), expected.data(), kWidth);
      GroupedRow row;
      read_grouped(dtype, bytes.data(), kWidth, row);
      check_form(*format, row);
      CHECK(same_values(values_of(*format, row), expected));
    }
  }
  CHECK(!grouped_format(DType::bf16));
  CHECK(!grouped_format(DType::i8));
}

TEST_CASE("affine rows of all widths and groups are grouped rows") {
  for (const int bits : {2, 3, 4, 6, 8}) {
    for (const std::int64_t group : {32, 64, 128}) {
      CAPTURE(bits);
      CAPTURE(group);
      const AffineFormat affine{bits, group};
      const std::vector<float> values = random_values(static_cast<std::uint64_t>(bits));
      std::vector<std::uint32_t> words(static_cast<std::size_t>(kWidth * bits / 32));
      std::vector<float> scales(static_cast<std::size_t>(kWidth / group)), biases(scales.size());
      encode_affine(affine, values, words, scales, biases);
      const AffineRow stored{words, scales, biases};
      std::vector<float> expected(values.size());
      decode_affine(affine, stored, expected);
      GroupedRow row;
      read_grouped(affine, stored, row);
      const GroupedFormat format = grouped_format(affine, GroupScale::f32);
      check_form(format, row);
      CHECK(same_values(values_of(format, row), expected));
    }
  }
}

TEST_CASE("rows of E2M1 are grouped rows, rows of E4M3 are not") {
  CHECK(!grouped_format(Microscaling::mxfp8));
  for (const Microscaling mode : {Microscaling::mxfp4, Microscaling::nvfp4}) {
    const MicroscalingInfo& info = microscaling_info(mode);
    CAPTURE(info.name);
    std::vector<std::uint32_t> words(static_cast<std::size_t>(kWidth / 8));
    std::vector<std::uint8_t> scales(static_cast<std::size_t>(kWidth / info.group));
    encode_microscaled(mode, random_values(9), words, scales);
    scales[0] = 0, scales[1] = 1, scales[2] = 0x7E;  // the smallest ones, and a large one
    std::vector<float> expected(static_cast<std::size_t>(kWidth));
    decode_microscaled(mode, words, scales, expected);
    GroupedRow row;
    read_grouped(mode, words, scales, row);
    check_form(*grouped_format(mode), row);
    CHECK(same_values(values_of(*grouped_format(mode), row), expected));
  }
}

TEST_CASE("rows of two formats are brought to one that holds both") {
  for (const DType a : kBlocks) {
    for (const DType b : kBlocks) {
      CAPTURE(dtype_name(a));
      CAPTURE(dtype_name(b));
      const auto joined = joined_format(*grouped_format(a), *grouped_format(b));
      REQUIRE(joined);
      CHECK(*joined == *joined_format(*grouped_format(b), *grouped_format(a)));
      if (a == b) CHECK(*joined == *grouped_format(a));
      GroupedRow row = random_blocks(a, 3);
      const std::vector<float> expected = values_of(*grouped_format(a), row);
      bring_to(*grouped_format(a), *joined, row);
      check_form(*joined, row);
      CHECK(same_values(values_of(*joined, row), expected));
    }
  }
  const GroupedFormat bytes = grouped_format(AffineFormat{8, 64}, GroupScale::bf16);
  const GroupedFormat codes = grouped_format(AffineFormat{4, 64}, GroupScale::bf16);
  CHECK(joined_format(bytes, codes)->zero == 128);
  CHECK(!joined_format(bytes, *grouped_format(DType::q8_0)));
}

}  // namespace linnet
