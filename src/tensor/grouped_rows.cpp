#include "tensor/grouped_rows.h"

#include <algorithm>
#include <cstdint>

#include "base/error.h"
#include "tensor/blocks_256.h"
#include "tensor/blocks_32.h"
#include "tensor/packed_codes.h"

namespace linnet {
namespace {

// Calls use(Format{}) with the struct of a block type; false for the plain types.
template <class Use>
bool with_blocks(DType dtype, Use use) {
  switch (dtype) {
    case DType::q4_0:
      return use(blocks::Q4_0{}), true;
    case DType::q4_1:
      return use(blocks::Q4_1{}), true;
    case DType::q5_0:
      return use(blocks::Q5_0{}), true;
    case DType::q5_1:
      return use(blocks::Q5_1{}), true;
    case DType::q8_0:
      return use(blocks::Q8_0{}), true;
    case DType::q2_k:
      return use(blocks::Q2_K{}), true;
    case DType::q3_k:
      return use(blocks::Q3_K{}), true;
    case DType::q4_k:
      return use(blocks::Q4_K{}), true;
    case DType::q5_k:
      return use(blocks::Q5_K{}), true;
    case DType::q6_k:
      return use(blocks::Q6_K{}), true;
    case DType::iq4_nl:
      return use(blocks::Iq4Nl{}), true;
    case DType::iq4_xs:
      return use(blocks::Iq4Xs{}), true;
    case DType::mxfp4:
      return use(blocks::Mxfp4{}), true;
    default:
      return false;
  }
}

void resize(GroupedRow& row, std::int64_t width, std::int64_t group, bool has_bias,
            bool is_product) {
  const auto groups = static_cast<std::size_t>(width / group);
  const auto spans = static_cast<std::size_t>(is_product ? width / kGroupSpan : 0);
  row.levels.resize(static_cast<std::size_t>(width));
  row.scales.resize(groups);
  row.biases.resize(has_bias ? groups : 0);
  row.scale_units.resize(spans);
  row.scale_factors.resize(is_product ? groups : 0);
  row.bias_units.resize(has_bias ? spans : 0);
  row.bias_factors.resize(is_product && has_bias ? groups : 0);
}

template <class Format>
void read_blocks(const std::byte* bytes, std::int64_t width, GroupedRow& out) {
  constexpr int kGroups = Format::kValues / Format::kGroup;
  constexpr bool kIsProduct = kGroups > 1;
  resize(out, width, Format::kGroup, Format::kHasBias, kIsProduct);
  blocks::Parts parts;
  for (std::int64_t block = 0; block < width / Format::kValues; ++block) {
    Format::read(bytes + block * Format::kBytes, parts);
    std::copy_n(parts.level, Format::kValues, out.levels.begin() + block * Format::kValues);
    for (int group = 0; group < kGroups; ++group) {
      const auto place = static_cast<std::size_t>(block * kGroups + group);
      out.scales[place] = blocks::group_scale<Format>(parts, group);
      if constexpr (kIsProduct) out.scale_factors[place] = parts.factor[group];
      if constexpr (Format::kHasBias) {
        out.biases[place] = blocks::group_bias<Format>(parts, group);
        if constexpr (kIsProduct) out.bias_factors[place] = parts.bias_factor[group];
      }
    }
    const auto span = static_cast<std::size_t>(block);
    if constexpr (kIsProduct) out.scale_units[span] = parts.scale;
    if constexpr (kIsProduct && Format::kHasBias) out.bias_units[span] = parts.bias;
  }
}

void set_table(GroupedFormat& format, const std::int8_t* levels) {
  format.has_table = true;
  std::copy_n(levels, 16, format.table.begin());
}

bool holds_no_negative(const GroupedFormat& format) {
  return format.has_table &&
         std::all_of(format.table.begin(), format.table.end(), [](int v) { return v >= 0; });
}

// Values of groups of `from` inputs, repeated for groups of `to`.
template <class Number>
void repeat(std::vector<Number>& values, std::int64_t from, std::int64_t to) {
  const auto times = static_cast<std::size_t>(from / to);
  if (times == 1 || values.empty()) return;
  std::vector<Number> repeated(values.size() * times);
  for (std::size_t i = 0; i < repeated.size(); ++i) repeated[i] = values[i / times];
  values = std::move(repeated);
}

// The kernels' groups are of 16 or 32.
std::int64_t kernel_group(std::int64_t group) { return group >= 32 ? 32 : 16; }

}  // namespace

std::optional<GroupedFormat> grouped_format(DType dtype) {
  GroupedFormat format;
  const bool is_block = with_blocks(dtype, [&](auto blocks) {
    using Format = decltype(blocks);
    format.group = Format::kGroup;
    format.has_bias = Format::kHasBias;
    if (Format::kGroup < Format::kValues) format.scale = GroupScale::product;
    const std::int8_t* levels = Format::kLevels;
    if (levels != nullptr) set_table(format, levels);
  });
  if (!is_block) return std::nullopt;
  // A power of two, which an f16 may not hold.
  if (dtype == DType::mxfp4) format.scale = GroupScale::bf16;
  return format;
}

void read_grouped(DType dtype, const std::byte* row, std::int64_t width, GroupedRow& out) {
  const bool is_block =
      with_blocks(dtype, [&](auto blocks) { read_blocks<decltype(blocks)>(row, width, out); });
  LINNET_CHECK(is_block);
}

GroupedFormat grouped_format(const AffineFormat& format, GroupScale scale) {
  GroupedFormat out;
  out.group = kernel_group(format.group);
  out.has_bias = true;
  out.scale = scale;
  if (format.bits <= 4) {
    set_table(out, blocks::kAscending);
  } else {
    out.zero = 128;
  }
  return out;
}

void read_grouped(const AffineFormat& format, const AffineRow& row, GroupedRow& out) {
  const auto width = static_cast<std::int64_t>(row.scales.size()) * format.group;
  resize(out, width, format.group, true, false);
  std::vector<std::uint8_t> codes(out.levels.size());
  unpack_codes(row.words, format.bits, codes);
  std::copy(codes.begin(), codes.end(), out.levels.begin());
  std::copy(row.scales.begin(), row.scales.end(), out.scales.begin());
  std::copy(row.biases.begin(), row.biases.end(), out.biases.begin());
  repeat(out.scales, format.group, kernel_group(format.group));
  repeat(out.biases, format.group, kernel_group(format.group));
}

std::optional<GroupedFormat> grouped_format(Microscaling mode) {
  if (mode == Microscaling::mxfp8) return std::nullopt;
  GroupedFormat out;
  out.group = microscaling_info(mode).group;
  out.scale = GroupScale::bf16;
  set_table(out, blocks::Mxfp4::kDoubled);
  return out;
}

void read_grouped(Microscaling mode, std::span<const std::uint32_t> words,
                  std::span<const std::uint8_t> scales, GroupedRow& out) {
  const MicroscalingInfo& info = microscaling_info(mode);
  resize(out, static_cast<std::int64_t>(scales.size()) * info.group, info.group, false, false);
  std::vector<std::uint8_t> codes(out.levels.size());
  unpack_codes(words, info.bits, codes);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    out.levels[i] = blocks::Mxfp4::kDoubled[codes[i]];
  }
  for (std::size_t g = 0; g < scales.size(); ++g) {
    out.scales[g] = mode == Microscaling::nvfp4 ? e4m3_to_f32(scales[g]) * 0.5f
                                                : blocks::Mxfp4::half_scale(scales[g]);
  }
}

std::optional<GroupedFormat> joined_format(const GroupedFormat& a, const GroupedFormat& b) {
  GroupedFormat out = a;
  out.group = std::min(a.group, b.group);
  out.has_bias = a.has_bias || b.has_bias;
  if (a.scale != b.scale) out.scale = GroupScale::f32;
  out.zero = std::max(a.zero, b.zero);
  if (!a.has_table || !b.has_table || a.table != b.table) {
    out.has_table = false;
    out.table = {};
  }
  const auto fits = [&](const GroupedFormat& format) {
    return format.zero == out.zero || holds_no_negative(format);
  };
  if (!fits(a) || !fits(b)) return std::nullopt;
  return out;
}

void bring_to(const GroupedFormat& from, const GroupedFormat& to, GroupedRow& row) {
  repeat(row.scales, from.group, to.group);
  repeat(row.biases, from.group, to.group);
  repeat(row.scale_factors, from.group, to.group);
  repeat(row.bias_factors, from.group, to.group);
  if (!to.has_bias || from.has_bias) return;
  row.biases.assign(row.scales.size(), 0.0f);
  row.bias_units.assign(row.scale_units.size(), 0.0f);
  row.bias_factors.assign(row.scale_factors.size(), 0);
}

}  // namespace linnet
