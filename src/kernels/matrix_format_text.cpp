#include "kernels/matrix_format_text.h"

#include <fmt/core.h>

#include <charconv>
#include <vector>

namespace linnet {
namespace {

constexpr std::string_view kScaleNames[] = {"f16", "bf16", "f32", "product"};

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> fields;
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = text.find(':');
    fields.push_back(text.substr(0, end));
    if (end != std::string_view::npos) text.remove_prefix(end + 1);
  }
  return fields;
}

bool read_table(std::string_view text, GroupedFormat& format) {
  format.has_table = text != "bytes";
  if (!format.has_table) return true;
  if (text.size() != 32) return false;
  for (std::size_t i = 0; i < 16; ++i) {
    std::uint8_t byte = 0;
    const char* end = text.data() + 2 * i + 2;
    if (std::from_chars(end - 2, end, byte, 16).ptr != end) return false;
    format.table[i] = static_cast<std::int8_t>(byte);
  }
  return true;
}

std::optional<MatrixFormat> read_grouped_format(const std::vector<std::string_view>& fields) {
  if (fields.size() != 6 || fields[0] != "grouped") return std::nullopt;
  GroupedFormat format;
  if (fields[1] != "16" && fields[1] != "32") return std::nullopt;
  format.group = fields[1] == "16" ? 16 : 32;
  bool is_scale = false;
  for (std::size_t i = 0; i < std::size(kScaleNames); ++i) {
    if (fields[2] != kScaleNames[i]) continue;
    format.scale = static_cast<GroupScale>(i);
    is_scale = true;
  }
  if (!is_scale || (fields[3] != "bias" && fields[3] != "plain")) return std::nullopt;
  format.has_bias = fields[3] == "bias";
  if (fields[4] != "0" && fields[4] != "128") return std::nullopt;
  format.zero = fields[4] == "0" ? 0 : 128;
  if (!read_table(fields[5], format)) return std::nullopt;
  // A table's levels are signed bytes.
  if (format.has_table && format.zero != 0) return std::nullopt;
  return format;
}

}  // namespace

std::string matrix_format_text(const MatrixFormat& format) {
  if (format.kind != PackedFormat::grouped) return std::string(packed_format_name(format.kind));
  const GroupedFormat& grouped = format.grouped;
  std::string table = "bytes";
  if (grouped.has_table) {
    table.clear();
    for (const std::int8_t level : grouped.table) {
      table += fmt::format("{:02x}", static_cast<std::uint8_t>(level));
    }
  }
  return fmt::format("grouped:{}:{}:{}:{}:{}", grouped.group,
                     kScaleNames[static_cast<std::size_t>(grouped.scale)],
                     grouped.has_bias ? "bias" : "plain", grouped.zero, table);
}

std::optional<MatrixFormat> matrix_format_of(std::string_view text) {
  for (const PackedFormat format : kPackedFormats) {
    if (packed_format_name(format) == text) return format;
  }
  return read_grouped_format(split(text));
}

}  // namespace linnet
