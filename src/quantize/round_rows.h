// Rounds the rows of a matrix to a format, with the three levers that a calibration text gives: the
// scales are searched with importance weights, and the codes are chosen with error feedback
// (Frantar et al., "GPTQ"; Chee et al., "QuIP", whose form this is).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "tensor/quantized_rows.h"

namespace linnet {

enum class RowFormat : std::uint8_t {
  f32,      // not rounded
  i8,       // see tensor/quantized_rows.h
  n4,       // see tensor/quantized_rows.h
  s6,       // see tensor/quantized_rows.h
  affine4,  // 4 bits in groups of 64, f16 scale and bias by the extreme values: to compare with
};
std::string_view row_format_name(RowFormat format);

inline constexpr std::size_t kAffine4Group = 64;

// Of affine4, the last group may be shorter: w = scale * code + bias.
struct Affine4Row {
  std::vector<float> scales, biases;  // exactly f16
  std::vector<std::uint8_t> codes;    // [width]
};

// Only the member of the format is filled.
struct RoundedRow {
  I8Row i8;
  N4Row n4;
  S6Row s6;
  Affine4Row affine4;
};

struct RoundRowsJob {
  RowFormat format = RowFormat::n4;  // not f32
  const float* weights = nullptr;    // [rows, width]
  std::int64_t rows = 0;
  std::int64_t width = 0;
  std::span<const float> importance;  // [width], mean squares of the inputs, or empty
  // Upper triangular, [width, width], from factor_upper() of the inputs' damped second moments;
  // null: every weight takes the nearest value, with no feedback.
  const float* factor = nullptr;
};
std::vector<RoundedRow> round_rows(const RoundRowsJob& job, ThreadPool& pool);

void decode_row(RowFormat format, const RoundedRow& row, float* out);

}  // namespace linnet
