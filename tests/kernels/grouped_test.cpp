// Grouped matrices: strips keep the rows as they are; every table gives the bits of the order that
// grouped.h states, computed here a second time.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "kernels/grouped_strip.h"
#include "kernels/kernels.h"
#include "kernels/matrix_format_text.h"
#include "kernels/packed_matrix.h"
#include "kernels/tile_rows.h"

using namespace linnet;

namespace {

template <typename Check>
void for_each_table(Check check) {
  for (const Kernels* table : all_kernels()) {
    if (!table->is_supported()) continue;
    CAPTURE(table->name);
    check(*table);
  }
}

std::vector<float> random_floats(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 1);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// A random row of a format.
GroupedRow random_row(const GroupedFormat& format, std::int64_t inputs, unsigned seed) {
  std::mt19937 random(seed);
  const auto byte = [&] { return static_cast<int>(random() % 256); };
  const auto scale = [&] {
    const float value = static_cast<float>(byte() - 128) * 0x1p-9f;  // exact in every type
    return value == 0 ? 0x1p-20f : value;
  };
  GroupedRow row;
  for (std::int64_t i = 0; i < inputs; ++i) {
    const int level = format.has_table ? format.table[random() % 16] : byte() - 128 + format.zero;
    row.levels.push_back(static_cast<std::int16_t>(level));
  }
  const bool is_product = format.scale == GroupScale::product;
  for (std::int64_t i = 0; is_product && i < inputs / kGroupSpan; ++i) {
    row.scale_units.push_back(scale());
    if (format.has_bias) row.bias_units.push_back(scale());
  }
  for (std::int64_t g = 0; g < inputs / format.group; ++g) {
    const auto span = static_cast<std::size_t>(g * format.group / kGroupSpan);
    for (const bool is_bias : {false, true}) {
      if (is_bias && !format.has_bias) continue;
      float value = scale();
      if (format.scale == GroupScale::f32) value *= 1.2345678f;
      if (is_product) {
        const int factor = byte() - 128;
        (is_bias ? row.bias_factors : row.scale_factors)
            .push_back(static_cast<std::int8_t>(factor));
        value = (is_bias ? row.bias_units : row.scale_units)[span] * static_cast<float>(factor);
      }
      (is_bias ? row.biases : row.scales).push_back(value);
    }
  }
  return row;
}

struct Spec {
  GroupedFormat format;
  std::int64_t rows, inputs, outputs;
};

class GroupedCase {
 public:
  explicit GroupedCase(const Spec& spec)
      : spec_(spec),
        strip_(grouped_strip(spec.format, spec.inputs)),
        x_(random_floats(static_cast<std::size_t>(spec.rows * spec.inputs), 1)),
        strips_((spec.outputs + kStripOutputs - 1) / kStripOutputs),
        bytes_(static_cast<std::size_t>(strips_ * strip_.bytes())) {
    for (std::int64_t n = 0; n < spec.outputs; ++n) {
      rows_.push_back(random_row(spec.format, spec.inputs, static_cast<unsigned>(100 + n)));
      write_grouped(strip_, n % kStripOutputs, rows_.back(), strip_of(n));
    }
  }
  std::vector<float>& x() { return x_; }

  std::vector<float> run(const Kernels& table, std::int64_t first, std::int64_t count) const {
    const std::int64_t bytes = strip_.groups() * (12 + spec_.format.group);
    std::vector<std::byte> tiled(static_cast<std::size_t>(count * bytes));
    std::vector<std::byte> row(static_cast<std::size_t>(bytes));
    for (std::int64_t i = 0; i < count; ++i) {
      table.quantize_groups(x_.data() + (first + i) * spec_.inputs, spec_.inputs,
                            spec_.format.group, spec_.format.zero, row.data());
      tile_row(row.data(), i, count, bytes, {table.group_tile_rows, 4}, tiled.data());
    }
    std::vector<std::byte> scratch(static_cast<std::size_t>(strip_.scratch_bytes()));
    std::vector<float> out(static_cast<std::size_t>(count * spec_.outputs));
    LinearTask task;
    task.strips = bytes_.data();
    task.strip_bytes = strip_.bytes();
    task.inputs = spec_.inputs;
    task.end_strip = strips_;
    task.x = {tiled.data(), nullptr, nullptr, count};
    task.out = out.data();
    task.out_stride = task.outputs = spec_.outputs;
    task.scratch = scratch.data();
    task.grouped = &strip_;
    table.linear_grouped(task);
    return out;
  }

  // The definition, step by step.
  float expected(std::int64_t row, std::int64_t output) const {
    const GroupedRow& weights = rows_[static_cast<std::size_t>(output)];
    const std::int64_t size = spec_.format.group;
    float f = 0;
    for (std::int64_t g = 0; g < strip_.groups(); ++g) {
      const float* x = x_.data() + row * spec_.inputs + g * size;
      float largest = 0;
      for (std::int64_t i = 0; i < size; ++i) largest = std::max(largest, std::fabs(x[i]));
      const float scale = largest / 127.0f, factor = 127.0f / largest;
      int dot = 0, sum = 0;
      for (std::int64_t i = 0; i < size; ++i) {
        const int code = static_cast<int>(std::nearbyint(x[i] * factor));
        dot += code * weights.levels[static_cast<std::size_t>(g * size + i)];
        sum += code;
      }
      const auto at = static_cast<std::size_t>(g);
      f = std::fma(static_cast<float>(dot) * scale, weights.scales[at], f);
      if (!spec_.format.has_bias) continue;
      f = std::fma(weights.biases[at], scale * static_cast<float>(sum), f);
    }
    return f;
  }

  void check_strip() const {
    std::vector<float> got(static_cast<std::size_t>(spec_.inputs));
    for (std::int64_t n = 0; n < spec_.outputs; ++n) {
      const GroupedRow& row = rows_[static_cast<std::size_t>(n)];
      read_grouped(strip_, bytes_.data() + n / kStripOutputs * strip_.bytes(), n % kStripOutputs,
                   spec_.inputs, got.data());
      bool is_same = true;
      for (std::size_t i = 0; i < got.size(); ++i) {
        const auto g = i / static_cast<std::size_t>(spec_.format.group);
        float value = static_cast<float>(row.levels[i]) * row.scales[g];
        if (spec_.format.has_bias) value += row.biases[g];
        is_same = is_same && value == got[i];
      }
      CHECK(is_same);
    }
  }

 private:
  std::byte* strip_of(std::int64_t output) {
    return bytes_.data() + output / kStripOutputs * strip_.bytes();
  }

  Spec spec_;
  GroupedStrip strip_;
  std::vector<float> x_;
  std::int64_t strips_;
  std::vector<std::byte> bytes_;
  std::vector<GroupedRow> rows_;
};

std::vector<GroupedFormat> all_formats() {
  std::vector<GroupedFormat> formats;
  for (const std::int64_t group : {16, 32}) {
    for (const bool has_bias : {false, true}) {
      for (const GroupScale scale :
           {GroupScale::f16, GroupScale::bf16, GroupScale::f32, GroupScale::product}) {
        GroupedFormat format;
        format.group = group;
        format.has_bias = has_bias;
        format.scale = scale;
        formats.push_back(format);
        format.zero = 128;
        formats.push_back(format);
        format.zero = 0;
        format.has_table = true;
        format.table = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
        formats.push_back(format);
      }
    }
  }
  return formats;
}

std::int64_t some_inputs(const GroupedFormat& format, std::int64_t groups) {
  return format.scale == GroupScale::product ? 2 * kGroupSpan : groups * format.group;
}

}  // namespace

TEST_CASE("strips keep grouped rows as they are") {
  for (const GroupedFormat& format : all_formats()) {
    GroupedCase({format, 1, some_inputs(format, 5), 37}).check_strip();
  }
}

TEST_CASE("grouped: every table has the bits of the definition, over odd shapes") {
  for (const GroupedFormat& format : all_formats()) {
    for (const std::int64_t groups : {1, 3, 6}) {
      const std::int64_t rows = 7 + groups, outputs = 30 + groups;
      const GroupedCase grouped({format, rows, some_inputs(format, groups), outputs});
      std::vector<float> expected;
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t n = 0; n < outputs; ++n) expected.push_back(grouped.expected(row, n));
      }
      for_each_table([&](const Kernels& table) {
        CHECK(same_bits(grouped.run(table, 0, rows), expected));
        for (std::int64_t row = 0; row < rows; ++row) {
          const auto begin = expected.begin() + row * outputs;
          CHECK(same_bits(grouped.run(table, row, 1), {begin, begin + outputs}));
        }
      });
    }
  }
}

TEST_CASE("grouped: an activation that is not finite spoils its row only") {
  GroupedFormat format;
  format.has_bias = true;
  GroupedCase grouped({format, 3, 64, 32});
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for_each_table([&](const Kernels& table) {
      const std::vector<float> before = grouped.run(table, 1, 2);
      const float kept = std::exchange(grouped.x()[5], bad);
      const std::vector<float> out = grouped.run(table, 0, 3);
      grouped.x()[5] = kept;
      for (int i = 0; i < 32; ++i) CHECK(!std::isfinite(out[static_cast<std::size_t>(i)]));
      CHECK(same_bits({out.begin() + 32, out.end()}, before));
    });
  }
}

TEST_CASE("every f16 is the same scale on every table") {
  GroupedFormat format;
  format.group = 16;
  const std::int64_t outputs = 65536;
  const GroupedStrip strip = grouped_strip(format, 16);
  std::vector<std::byte> bytes(static_cast<std::size_t>(outputs / kStripOutputs * strip.bytes()));
  GroupedRow row;
  row.levels.assign(16, 1);
  for (std::int64_t n = 0; n < outputs; ++n) {
    row.scales = {f16_to_f32(static_cast<std::uint16_t>(n))};
    write_grouped(strip, n % kStripOutputs, row, bytes.data() + n / kStripOutputs * strip.bytes());
  }
  std::vector<float> x(16);
  x[0] = 127;  // one code of 127, scale 1
  for_each_table([&](const Kernels& table) {
    std::byte units[28];
    table.quantize_groups(x.data(), 16, 16, 0, units);
    std::vector<std::byte> scratch(static_cast<std::size_t>(strip.scratch_bytes()));
    std::vector<float> out(static_cast<std::size_t>(outputs));
    LinearTask task;
    task.strips = bytes.data();
    task.strip_bytes = strip.bytes();
    task.inputs = 16;
    task.end_strip = outputs / kStripOutputs;
    task.x = {units, nullptr, nullptr, 1};
    task.out = out.data();
    task.out_stride = task.outputs = outputs;
    task.scratch = scratch.data();
    task.grouped = &strip;
    table.linear_grouped(task);
    std::int64_t wrong = 0;
    for (std::int64_t n = 0; n < outputs; ++n) {
      const float expected = 127.0f * f16_to_f32(static_cast<std::uint16_t>(n));
      const float found = out[static_cast<std::size_t>(n)];
      wrong += !(found == expected || (std::isnan(found) && std::isnan(expected)));
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("matrices of two formats become one that holds both") {
  const MatrixFormat q4 = *grouped_format(DType::q4_k), q6 = *grouped_format(DType::q6_k);
  CHECK(joined_format(q4, q4) == q4);
  const MatrixFormat both = joined_format(q4, q6);
  CHECK(both.kind == PackedFormat::grouped);
  CHECK(both.grouped.group == 16);
  CHECK(both.grouped.has_bias);
  CHECK(both.grouped.scale == GroupScale::product);
  CHECK(!both.grouped.has_table);
  CHECK(joined_format(q4, PackedFormat::f16) == PackedFormat::f32);
  CHECK(joined_format(q4, PackedFormat::i8) == PackedFormat::f32);
  CHECK(joined_format(PackedFormat::n4, PackedFormat::i8) == PackedFormat::i8);
  CHECK(joined_format(PackedFormat::bf16, PackedFormat::f16) == PackedFormat::f32);
}

TEST_CASE("formats are read back from their text, and nothing else is") {
  for (const GroupedFormat& format : all_formats()) {
    const std::string text = matrix_format_text(format);
    CAPTURE(text);
    const auto read = matrix_format_of(text);
    REQUIRE(read);
    CHECK(*read == MatrixFormat(format));
    CHECK(!matrix_format_of(text + "0"));
    CHECK(!matrix_format_of(text.substr(0, text.size() - 1)));
    CHECK(!matrix_format_of(text + ":"));
  }
  CHECK(*matrix_format_of("s6") == MatrixFormat(PackedFormat::s6));
  for (const char* text :
       {"", "grouped", "grouped:64:f16:plain:0:bytes", "grouped:32:f8:plain:0:bytes",
        "grouped:32:f16:none:0:bytes", "grouped:32:f16:plain:7:bytes",
        "grouped:32:f16:plain:0:0102", "grouped:32:f16:plain:128:000102030405060708090a0b0c0d0e0f",
        "grouped:32:f16:plain:0:000102030405060708090a0b0c0d0e0g"}) {
    CAPTURE(text);
    CHECK(!matrix_format_of(text));
  }
}
