#include "kernels/packed_matrix.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/error.h"
#include "kernels/float_code_strip.h"
#include "tensor/dtype.h"
#include "tensor/quantized_rows.h"

namespace linnet {
namespace {

constexpr std::int64_t kInputPadding = 64;
constexpr std::int64_t kScaleBytes = kStripOutputs * 4;
constexpr std::int64_t kBlockInputs = 4 * kN4Group;
constexpr std::int64_t kBlockBytes = kBlockInputs * kStripOutputs / 2 + kBlockInputs;

// Where the codes of one output lie in a strip. Bytes are counted from the strip's start.
std::int64_t byte_place(std::int64_t output, std::int64_t input) {
  return input / 4 * 128 + output / 16 * 64 + output % 16 * 4 + input % 4;
}

// The byte of a vector of codes that belongs to an output (of 16) and an input (of 4).
std::int64_t place_in_vector(std::int64_t output, std::int64_t input) {
  return output / 4 * 16 + 2 * (output % 2 * 4 + input) + output % 4 / 2;
}

struct CodePlace {
  std::int64_t byte;
  bool high;
};
CodePlace code_place(std::int64_t output, std::int64_t input) {
  const std::int64_t block = input / kBlockInputs, vector = input % kBlockInputs / 8;
  return {block * kBlockBytes + kBlockInputs + vector * 128 + output / 16 * 64 +
              place_in_vector(output % 16, input % 4),
          input % 8 >= 4};
}
std::int64_t group_place(std::int64_t output, std::int64_t group) {
  return group / 4 * kBlockBytes + group % 4 * kStripOutputs + output;
}

constexpr std::int64_t kBlock6Inputs = 2 * kS6Group;
constexpr std::int64_t kBlock6Bytes = kBlock6Inputs * kStripOutputs * 6 / 8 + 2 * kStripOutputs;

// Where the codes of sixteen inputs of an output begin: the byte of the first in the first of three
// vectors.
std::int64_t codes6_place(std::int64_t output, std::int64_t input) {
  const std::int64_t block = input / kBlock6Inputs, part = input % kBlock6Inputs / 16;
  return block * kBlock6Bytes + 2 * kStripOutputs + part * 384 + output / 16 * 192 +
         place_in_vector(output % 16, 0);
}
std::int64_t group6_place(std::int64_t output, std::int64_t group) {
  return group / 2 * kBlock6Bytes + group % 2 * kStripOutputs + output;
}

constexpr bool is_plain(PackedFormat format) {
  return format == PackedFormat::f32 || format == PackedFormat::bf16 || format == PackedFormat::f16;
}

// Fills one strip, which is zeroed. The tile and the rows are reused from strip to strip.
class StripWriter {
 public:
  StripWriter(const PackedShape& shape, std::int64_t width, const RowSource& source)
      : shape_(shape),
        width_(width),
        source_(source),
        tile_(static_cast<std::size_t>(width * (is_plain(shape.format) ? kStripOutputs : 1))) {}

  // The source rows of the strip's outputs, which may be fewer than 32.
  void write(std::span<const std::int64_t> rows, std::byte* strip) {
    strip_ = strip;
    for (std::size_t i = 0; i < kStripOutputs; ++i) {
      const std::int64_t row = i < rows.size() ? rows[i] : -1;
      const auto output = static_cast<std::int64_t>(i);
      switch (shape_.format) {
        case PackedFormat::f32:
        case PackedFormat::bf16:
        case PackedFormat::f16:
          read_floats(row, tile_.data() + output * width_);
          break;
        case PackedFormat::mxfp8:
        case PackedFormat::nf4:
          write_codes(output, row, *float_code(shape_.format));
          break;
        case PackedFormat::i8:
          write_i8(output, row);
          break;
        case PackedFormat::n4:
          write_n4(output, row);
          break;
        case PackedFormat::s6:
          write_s6(output, row);
          break;
        case PackedFormat::grouped:
          if (row < 0) break;
          LINNET_CHECK(source_.read_grouped(row, shape_.grouped.format, grouped_));
          write_grouped(shape_.grouped, output, grouped_, strip_);
          break;
      }
    }
    if (shape_.format == PackedFormat::f32) {
      transpose<float>([](float value) { return value; });
    } else if (shape_.format == PackedFormat::bf16) {
      transpose<std::uint16_t>(f32_to_bf16);
    } else if (shape_.format == PackedFormat::f16) {
      transpose<std::uint16_t>(f32_to_f16);
    }
  }

 private:
  void read_floats(std::int64_t row, float* out) const {
    if (row >= 0) return source_.decode_row(row, out);
    std::fill(out, out + width_, 0.0f);
  }
  std::span<const float> floats(std::int64_t row) {
    read_floats(row, tile_.data());
    return tile_;
  }
  // In order of the strip, so that it is written as one stream.
  template <typename Number, typename Convert>
  void transpose(Convert convert) {
    const float* rows = tile_.data();
    Number outputs[kStripOutputs];
    for (std::int64_t k = 0; k < width_; ++k) {
      for (std::int64_t i = 0; i < kStripOutputs; ++i) outputs[i] = convert(rows[i * width_ + k]);
      std::memcpy(strip_ + k * static_cast<std::int64_t>(sizeof outputs), outputs, sizeof outputs);
    }
  }
  void put_scale(std::int64_t output, float scale) {
    std::memcpy(strip_ + shape_.strip_bytes() - kScaleBytes + 4 * output, &scale, sizeof scale);
  }
  void write_codes(std::int64_t output, std::int64_t row, FloatCode code) {
    if (row < 0) return;  // codes of zero, or the scale zero
    if (!source_.read_float_codes(row, code, codes_)) {
      encode_float_codes(code, floats(row), codes_);
    }
    write_float_codes(code, output, codes_, strip_);
  }
  // Four codes at a time lie together.
  void write_i8(std::int64_t output, std::int64_t row) {
    if (row < 0 || !source_.read_i8(row, i8_)) encode_i8(floats(row), i8_);
    i8_.codes.resize(static_cast<std::size_t>(shape_.inputs));
    const std::int8_t* codes = i8_.codes.data();
    std::byte* place = strip_ + byte_place(output, 0);
    for (std::int64_t k = 0; k < shape_.inputs; k += 4, place += 4 * kStripOutputs) {
      for (int j = 0; j < 4; ++j) place[j] = static_cast<std::byte>(codes[k + j] + 128);
    }
    put_scale(output, i8_.scale);
  }
  // Eight codes at a time lie in four bytes. Padding needs no care: activations there are zero,
  // whatever byte the code stands for.
  void write_n4(std::int64_t output, std::int64_t row) {
    if (row < 0 || !source_.read_n4(row, n4_)) encode_n4(floats(row), {}, n4_);
    n4_.codes.resize(static_cast<std::size_t>(shape_.inputs));
    for (std::int64_t k = 0; k < shape_.inputs; k += 8) {
      const std::uint8_t* codes = n4_.codes.data() + k;
      std::byte* place = strip_ + code_place(output, k).byte;
      for (int j = 0; j < 4; ++j) {
        place[2 * j] = static_cast<std::byte>(codes[j] | codes[4 + j] << 4);
      }
    }
    for (std::size_t g = 0; g < n4_.groups.size(); ++g) {
      strip_[group_place(output, static_cast<std::int64_t>(g))] =
          static_cast<std::byte>(n4_.groups[g]);
    }
    put_scale(output, n4_.scale);
  }
  void write_s6(std::int64_t output, std::int64_t row) {
    if (row < 0 || !source_.read_s6(row, s6_)) encode_s6(floats(row), {}, s6_);
    s6_.codes.resize(static_cast<std::size_t>(shape_.inputs));
    for (std::int64_t k = 0; k < shape_.inputs; k += 16) {
      const std::int8_t* codes = s6_.codes.data() + k;
      std::byte* place = strip_ + codes6_place(output, k);
      for (int j = 0; j < 4; ++j, place += 2) {
        const int a = codes[j] + 32, b = codes[4 + j] + 32;
        const int c = codes[8 + j] + 32, d = codes[12 + j] + 32;
        place[0] = static_cast<std::byte>((a & 15) | (b & 15) << 4);
        place[64] = static_cast<std::byte>((c & 15) | (d & 15) << 4);
        place[128] = static_cast<std::byte>(a >> 4 | b >> 4 << 2 | c >> 4 << 4 | d >> 4 << 6);
      }
    }
    for (std::size_t g = 0; g < s6_.groups.size(); ++g) {
      strip_[group6_place(output, static_cast<std::int64_t>(g))] =
          static_cast<std::byte>(s6_.groups[g]);
    }
    put_scale(output, s6_.scale);
  }

  const PackedShape& shape_;
  std::int64_t width_;
  const RowSource& source_;
  std::vector<float> tile_;  // of floats [32, width], else one row
  I8Row i8_;
  N4Row n4_;
  S6Row s6_;
  GroupedRow grouped_;
  FloatCodeRow codes_;
  std::byte* strip_ = nullptr;
};

class FloatRows final : public RowSource {
 public:
  explicit FloatRows(const PackedMatrix::RowReader& read) : read_(read) {}
  void decode_row(std::int64_t row, float* out) const override { read_(row, out); }

 private:
  const PackedMatrix::RowReader& read_;
};

}  // namespace

std::int64_t PackedShape::strip_bytes() const {
  switch (format) {
    case PackedFormat::f32:
      return inputs * kStripOutputs * 4;
    case PackedFormat::bf16:
    case PackedFormat::f16:
      return inputs * kStripOutputs * 2;
    case PackedFormat::mxfp8:
    case PackedFormat::nf4:
      return float_strip_bytes(*float_code(format), inputs);
    case PackedFormat::i8:
      return inputs * kStripOutputs + kScaleBytes;
    case PackedFormat::n4: {
      const std::int64_t blocks = (inputs + kBlockInputs - 1) / kBlockInputs;
      return inputs * kStripOutputs / 2 + blocks * kBlockInputs + kScaleBytes;
    }
    case PackedFormat::s6: {
      const std::int64_t blocks = (inputs + kBlock6Inputs - 1) / kBlock6Inputs;
      return inputs * kStripOutputs * 6 / 8 + blocks * 2 * kStripOutputs + kScaleBytes;
    }
    case PackedFormat::grouped:
      return grouped.bytes();
  }
  return 0;
}

std::int64_t PackedShape::row_bytes() const {
  if (format == PackedFormat::grouped) return grouped.row_bytes();
  return is_integer(format) ? inputs : 4 * inputs;
}

std::int64_t PackedShape::scratch_bytes() const {
  if (format == PackedFormat::grouped) return grouped.scratch_bytes();
  if (float_code(format)) return kStripOutputs * inputs * 4;
  const bool widens = format == PackedFormat::n4 || format == PackedFormat::s6;
  return widens ? kStripOutputs * inputs : 0;
}

RowTiling row_tiling(const Kernels& kernels, PackedFormat format, std::int64_t rows) {
  if (format == PackedFormat::grouped) return {kernels.group_tile_rows, 4};
  const bool may_block = kernels.blocks_from > 0 && is_integer(format);
  if (may_block && rows >= kernels.blocks_from) return kRowBlock;
  if (rows <= kernels.few_rows) return {even_tile(rows, kernels.few_tile_rows), 4};
  return {kernels.tile_rows, 4};
}

PackedShape packed_shape(const MatrixFormat& format, std::int64_t outputs, std::int64_t inputs) {
  const auto rounded = [](std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; };
  PackedShape shape = {format.kind, rounded(outputs, kStripOutputs),
                       is_integer(format.kind) ? rounded(inputs, kInputPadding) : inputs};
  if (format.kind == PackedFormat::grouped) shape.grouped = grouped_strip(format.grouped, inputs);
  return shape;
}

PackedMatrix PackedMatrix::pack(const MatrixFormat& format, std::span<const std::int64_t> rows,
                                std::int64_t inputs, const RowSource& source, ThreadPool& pool) {
  const PackedShape shape = packed_shape(format, static_cast<std::int64_t>(rows.size()), inputs);
  auto buffer = std::make_shared<Buffer>(shape.bytes(), MemoryAccount::weights());
  std::byte* strips = buffer->data();
  const auto fill = [&](std::int64_t begin, std::int64_t end) {
    StripWriter writer(shape, inputs, source);
    for (std::int64_t strip = begin; strip < end; ++strip) {
      std::byte* bytes = strips + strip * shape.strip_bytes();
      std::memset(bytes, 0, static_cast<std::size_t>(shape.strip_bytes()));
      const auto first = static_cast<std::size_t>(strip * kStripOutputs);
      const auto left = std::min<std::size_t>(kStripOutputs, rows.size() - first);
      writer.write(rows.subspan(first, left), bytes);
    }
  };
  constexpr std::int64_t kStripsAtOnce = 4;
  pool.parallel_for(shape.strips(), kStripsAtOnce, fill);
  return over(shape, strips, std::move(buffer));
}

PackedMatrix PackedMatrix::over(const PackedShape& shape, const std::byte* strips,
                                std::shared_ptr<const void> owner) {
  constexpr std::uintptr_t kLine = 64;
  LINNET_CHECK(reinterpret_cast<std::uintptr_t>(strips) % kLine == 0);
  PackedMatrix matrix;
  matrix.shape_ = shape;
  matrix.strips_ = strips;
  matrix.owner_ = std::move(owner);
  return matrix;
}

PackedMatrix PackedMatrix::pack(const MatrixFormat& format, std::span<const std::int64_t> rows,
                                std::int64_t inputs, const RowReader& read_row, ThreadPool& pool) {
  return pack(format, rows, inputs, FloatRows(read_row), pool);
}

void PackedMatrix::decode_output(std::int64_t output, std::int64_t inputs, float* out) const {
  LINNET_CHECK(output < shape_.outputs && inputs <= shape_.inputs);
  const std::byte* strip = strips() + output / kStripOutputs * shape_.strip_bytes();
  const std::int64_t n = output % kStripOutputs;
  if (shape_.format == PackedFormat::grouped) {
    return read_grouped(shape_.grouped, strip, n, inputs, out);
  }
  if (const auto code = float_code(shape_.format)) {
    return read_float_codes(*code, strip, n, inputs, out);
  }
  float scale = 1;
  if (is_integer(shape_.format)) {
    std::memcpy(&scale, strip + shape_.strip_bytes() - kScaleBytes + 4 * n, sizeof scale);
  }
  for (std::int64_t k = 0; k < inputs; ++k) {
    const std::int64_t number = k * kStripOutputs + n;
    std::uint16_t half;
    switch (shape_.format) {
      case PackedFormat::f32:
        std::memcpy(out + k, strip + 4 * number, sizeof(float));
        break;
      case PackedFormat::bf16:
        std::memcpy(&half, strip + 2 * number, sizeof half);
        out[k] = bf16_to_f32(half);
        break;
      case PackedFormat::f16:
        std::memcpy(&half, strip + 2 * number, sizeof half);
        out[k] = f16_to_f32(half);
        break;
      case PackedFormat::i8:
        out[k] = scale * static_cast<float>(static_cast<int>(strip[byte_place(n, k)]) - 128);
        break;
      case PackedFormat::n4: {
        const CodePlace place = code_place(n, k);
        const int byte = static_cast<int>(strip[place.byte]);
        const auto c = static_cast<std::int8_t>(strip[group_place(n, k / kN4Group)]);
        out[k] = scale * static_cast<float>(n4_byte(place.high ? byte >> 4 : byte & 15, c));
        break;
      }
      case PackedFormat::s6: {
        const std::byte* place = strip + codes6_place(n, k) + 2 * (k % 4);
        const std::int64_t part = k % 16 / 4;
        const int low = static_cast<int>(place[part / 2 * 64]) >> (part % 2 * 4) & 15;
        const int high = static_cast<int>(place[128]) >> (2 * part) & 3;
        const auto c = static_cast<std::int8_t>(strip[group6_place(n, k / kS6Group)]);
        out[k] = scale * static_cast<float>(s6_byte((low | high << 4) - 32, c));
        break;
      }
      case PackedFormat::mxfp8:
      case PackedFormat::nf4:
      case PackedFormat::grouped:
        break;
    }
  }
}

}  // namespace linnet
