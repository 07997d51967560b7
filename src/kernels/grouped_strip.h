// The strips of a grouped matrix (tensor/grouped_rows.h), for 32 outputs each. A strip is a row of
// spans: 256 inputs where scales are products, else one group. A span holds
//   scales  [32] f16, bf16 or f32; of products [32] f16, then [groups of the span][32] signed bytes
//   biases  the same, where the format has them
//   codes   of a table: [inputs / 8] pairs of vectors, each 16 outputs by 8 inputs: byte 4n + j
//           holds output n, inputs j (low nibble) and 4 + j (high). Else [inputs / 4] pairs, each
//           16 outputs by 4 inputs: byte 4n + j is level - zero + 128.
// so that it is read as one stream, and each part begins at a multiple of 64 bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/grouped_rows.h"

namespace linnet {

struct GroupedStrip {
  GroupedFormat format;
  std::int64_t inputs = 0;
  std::int64_t span_groups = 1;
  std::int64_t scale_bytes = 0;  // of a span; biases take as many
  std::int64_t span_bytes = 0;

  std::int64_t groups() const { return inputs / format.group; }
  std::int64_t spans() const { return groups() / span_groups; }
  std::int64_t codes_begin() const { return scale_bytes * (format.has_bias ? 2 : 1); }
  std::int64_t bytes() const { return spans() * span_bytes; }
  // Of one row of activations (Kernels::quantize_groups).
  std::int64_t row_bytes() const { return groups() * (12 + format.group); }
  // Of a thread that multiplies: scales, and perhaps biases, as floats.
  std::int64_t scratch_bytes() const { return groups() * 32 * 4 * (format.has_bias ? 2 : 1); }
};

// What the inputs of a matrix must be a multiple of: the group, and of products the span.
std::int64_t span_inputs(const GroupedFormat& format);
GroupedStrip grouped_strip(const GroupedFormat& format, std::int64_t inputs);

// Puts one output's row, which is of the strip's format, into a strip that was zeroed.
void write_grouped(const GroupedStrip& strip, std::int64_t output, const GroupedRow& row,
                   std::byte* bytes);
// The weights of an output: level * scale + bias.
void read_grouped(const GroupedStrip& strip, const std::byte* bytes, std::int64_t output,
                  std::int64_t inputs, float* out);

}  // namespace linnet
