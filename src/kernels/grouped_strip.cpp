#include "kernels/grouped_strip.h"

#include <cstring>

#include "base/error.h"
#include "kernels/kernels.h"

namespace linnet {
namespace {

// Bytes of the scales of a span, or of its biases.
std::int64_t scale_bytes(GroupScale scale, std::int64_t groups) {
  switch (scale) {
    case GroupScale::f16:
    case GroupScale::bf16:
      return 2 * groups * kStripOutputs;
    case GroupScale::f32:
      return 4 * groups * kStripOutputs;
    case GroupScale::product:
      return (2 + groups) * kStripOutputs;
  }
  return 0;
}

template <class Number>
void put(std::byte* at, std::int64_t index, Number number) {
  std::memcpy(at + index * static_cast<std::int64_t>(sizeof number), &number, sizeof number);
}
template <class Number>
Number get(const std::byte* at, std::int64_t index) {
  Number number;
  std::memcpy(&number, at + index * static_cast<std::int64_t>(sizeof number), sizeof number);
  return number;
}

// The scales of one output, or its biases: `part` is where those of the first span begin.
class ScaleColumn {
 public:
  ScaleColumn(const GroupedStrip& strip, std::int64_t output) : strip_(strip), output_(output) {}

  void write(const std::vector<float>& values, const std::vector<float>& units,
             const std::vector<std::int8_t>& factors, std::byte* part) const {
    for (std::int64_t span = 0; span < strip_.spans(); ++span, part += strip_.span_bytes) {
      const auto first = static_cast<std::size_t>(span * strip_.span_groups);
      switch (strip_.format.scale) {
        case GroupScale::f16:
          put(part, output_, f32_to_f16(values[first]));
          break;
        case GroupScale::bf16:
          put(part, output_, f32_to_bf16(values[first]));
          break;
        case GroupScale::f32:
          put(part, output_, values[first]);
          break;
        case GroupScale::product:
          put(part, output_, f32_to_f16(units[static_cast<std::size_t>(span)]));
          for (std::int64_t i = 0; i < strip_.span_groups; ++i) {
            put(part, factor_place(i), factors[first + static_cast<std::size_t>(i)]);
          }
          break;
      }
    }
  }

  float read(const std::byte* part, std::int64_t group) const {
    part += group / strip_.span_groups * strip_.span_bytes;
    switch (strip_.format.scale) {
      case GroupScale::bf16:
        return bf16_to_f32(get<std::uint16_t>(part, output_));
      case GroupScale::f32:
        return get<float>(part, output_);
      case GroupScale::f16:
      case GroupScale::product:
        break;
    }
    const float unit = f16_to_f32(get<std::uint16_t>(part, output_));
    if (strip_.format.scale == GroupScale::f16) return unit;
    return unit *
           static_cast<float>(get<std::int8_t>(part, factor_place(group % strip_.span_groups)));
  }

 private:
  std::int64_t factor_place(std::int64_t group) const {
    return (2 + group) * kStripOutputs + output_;
  }

  const GroupedStrip& strip_;
  std::int64_t output_;
};

// Where the quad of levels that holds `input` lies in a strip.
std::int64_t quad_place(const GroupedStrip& strip, std::int64_t output, std::int64_t input) {
  const std::int64_t span_inputs = strip.span_groups * strip.format.group;
  const std::int64_t vector = input % span_inputs / (strip.format.has_table ? 8 : 4);
  return input / span_inputs * strip.span_bytes + strip.codes_begin() + vector * 128 +
         output / 16 * 64 + output % 16 * 4;
}

// The code of every byte; of a byte that is no level, some code.
struct CodeOfLevel {
  std::uint8_t code[256] = {};
  explicit CodeOfLevel(const std::array<std::int8_t, 16>& table) {
    for (std::size_t i = 16; i-- > 0;)
      code[static_cast<std::uint8_t>(table[i])] = static_cast<std::uint8_t>(i);
  }
};

}  // namespace

std::int64_t span_inputs(const GroupedFormat& format) {
  return format.scale == GroupScale::product ? kGroupSpan : format.group;
}

GroupedStrip grouped_strip(const GroupedFormat& format, std::int64_t inputs) {
  GroupedStrip strip;
  strip.format = format;
  strip.inputs = inputs;
  const std::int64_t span = span_inputs(format);
  strip.span_groups = span / format.group;
  LINNET_CHECK(inputs % span == 0);
  strip.scale_bytes = scale_bytes(format.scale, strip.span_groups);
  strip.span_bytes = strip.codes_begin() + span * kStripOutputs / (format.has_table ? 2 : 1);
  return strip;
}

void write_grouped(const GroupedStrip& strip, std::int64_t output, const GroupedRow& row,
                   std::byte* bytes) {
  const ScaleColumn column(strip, output);
  column.write(row.scales, row.scale_units, row.scale_factors, bytes);
  if (strip.format.has_bias) {
    column.write(row.biases, row.bias_units, row.bias_factors, bytes + strip.scale_bytes);
  }
  const std::int16_t* levels = row.levels.data();
  if (!strip.format.has_table) {
    const int shift = 128 - strip.format.zero;
    for (std::int64_t k = 0; k < strip.inputs; k += 4) {
      std::byte* place = bytes + quad_place(strip, output, k);
      for (int j = 0; j < 4; ++j) place[j] = static_cast<std::byte>(levels[k + j] + shift);
    }
    return;
  }
  const CodeOfLevel codes(strip.format.table);
  const auto code = [&](std::int64_t k) {
    return codes.code[static_cast<std::uint8_t>(levels[k])];
  };
  for (std::int64_t k = 0; k < strip.inputs; k += 8) {
    std::byte* place = bytes + quad_place(strip, output, k);
    for (int j = 0; j < 4; ++j) {
      place[j] = static_cast<std::byte>(code(k + j) | code(k + 4 + j) << 4);
    }
  }
}

void read_grouped(const GroupedStrip& strip, const std::byte* bytes, std::int64_t output,
                  std::int64_t inputs, float* out) {
  const GroupedFormat& format = strip.format;
  const ScaleColumn column(strip, output);
  for (std::int64_t k = 0; k < inputs; ++k) {
    const int byte = static_cast<int>(bytes[quad_place(strip, output, k) + k % 4]);
    int level = byte + format.zero - 128;
    if (format.has_table) {
      level = format.table[static_cast<std::size_t>(k % 8 < 4 ? byte & 15 : byte >> 4)];
    }
    out[k] = static_cast<float>(level) * column.read(bytes, k / format.group);
    if (format.has_bias) out[k] += column.read(bytes + strip.scale_bytes, k / format.group);
  }
}

}  // namespace linnet
