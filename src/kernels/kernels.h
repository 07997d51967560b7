// The room of kernels: one table of function pointers per instruction set. All tables come from the
// same templates over sixteen lanes, so every table gives the bits of the scalar one; a test
// compares them. Kernels never throw and check nothing: shapes are checked when a program is
// lowered. Matrices are packed once into strips (packed_matrix.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>

#include "tensor/functions.h"

namespace linnet {

struct GroupedStrip;  // grouped_strip.h

// Outputs of a packed matrix that lie together: two vectors of sixteen.
inline constexpr std::int64_t kStripOutputs = 32;
// Positions of a block of the cache.
inline constexpr std::int64_t kBlockPositions = 64;
// Attention over a long context is cut here, whatever the number of threads, and merged in order.
inline constexpr std::int64_t kSegmentPositions = 1024;

// What becomes of a linear's results.
enum class Epilogue : std::uint8_t {
  store,  // out = result
  add,    // out += result: the residual stream
  gate,   // out = activation(result of the strip's first 16 outputs) * (of its last 16)
};

// Rows of activations lie in tiles of so many rows (the last may be smaller); a tile of m rows is
// [units][m] units of so many bytes.
struct RowTiling {
  std::int64_t rows;
  std::int64_t unit_bytes;
};
// Rows of a tile when they are shared out evenly among as few tiles as possible.
constexpr std::int64_t even_tile(std::int64_t rows, std::int64_t most) {
  const std::int64_t tiles = rows == 0 ? 1 : (rows + most - 1) / most;
  return rows == 0 ? 1 : (rows + tiles - 1) / tiles;
}
// For matrix tiles.
inline constexpr RowTiling kRowBlock = {16, 64};

// Rows of activations in the order in which a linear kernel reads them (row_tiling in
// packed_matrix.h): units of four bytes are four int8 values, or one float.
struct TiledRows {
  const std::byte* units = nullptr;
  const float* scale = nullptr;       // [rows]: of int8 values
  const std::int32_t* sum = nullptr;  // [rows]: of int8 values
  std::int64_t rows = 0;
};

struct LinearTask {
  const std::byte* strips = nullptr;
  std::int64_t strip_bytes = 0;
  std::int64_t inputs = 0;  // with padding
  std::int64_t first_strip = 0;
  std::int64_t end_strip = 0;
  TiledRows x;
  const float* bias = nullptr;  // [strips, 32] in the order of the strips, or none
  float* out = nullptr;         // [rows, outputs]
  std::int64_t out_stride = 0;
  std::int64_t outputs = 0;  // of the result: of a gate half as many as the strips have
  Epilogue epilogue = Epilogue::store;
  Activation activation = Activation::silu;  // of a gate
  std::byte* scratch = nullptr;              // of this thread: PackedShape::scratch_bytes()
  const GroupedStrip* grouped = nullptr;     // of a grouped matrix
};

// How a cache keeps keys and values.
enum class CacheFormat : std::uint8_t {
  f32,
  f16,  // rounded to even, at most 65504; queries, probabilities and sums stay f32
  i8,   // symmetric, one f32 scale per position and head, for keys and values each
};
struct CacheFormatInfo {
  CacheFormat format;
  std::string_view name;
  std::int64_t bytes;  // of a number
};
inline constexpr CacheFormatInfo kCacheFormats[] = {
    {CacheFormat::f32, "f32", 4}, {CacheFormat::f16, "f16", 2}, {CacheFormat::i8, "i8", 1}};
constexpr const CacheFormatInfo& cache_info(CacheFormat format) {
  return kCacheFormats[static_cast<std::size_t>(format)];
}

// One segment of the context for one row and one key/value head, with all its query heads.
struct AttentionTask {
  const float* query = nullptr;        // f32 and f16: [heads, dim]
  const std::int8_t* codes = nullptr;  // i8: the same as int8, [heads, padded_dim]
  const float* code_scale = nullptr;   // i8: [heads]
  const std::int32_t* code_sum = nullptr;
  std::int64_t heads = 0;  // that share the key/value head
  std::int64_t dim = 0;
  float scale = 1;
  const std::byte* const* blocks = nullptr;  // of the sequence, for this head (HeadBlock)
  std::int64_t first = 0;                    // positions [first, end)
  std::int64_t end = 0;
  // Results, one per head: largest score, sum of e^(score - largest), and the values' sum with
  // these factors, [heads, padded_dim].
  float* largest = nullptr;
  float* sum = nullptr;
  float* mixed = nullptr;
};

inline std::int64_t padded_dim(std::int64_t dim) { return (dim + 15) / 16 * 16; }

// What a block of 64 positions holds for one key/value head, in bytes from its start.
//   f32, f16  keys [4 units][dim][16 positions], values [64][padded_dim].
//   i8        keys [4 units][padded_dim / 4][16 positions][4] codes + 128, their scales [64] f32,
//             values [32 pairs of positions][padded_dim][2] codes, their scales [64] f32.
struct HeadBlock {
  HeadBlock(CacheFormat format, std::int64_t dim)
      : key_bytes(kBlockPositions * (format == CacheFormat::i8 ? padded_dim(dim) : dim) *
                  cache_info(format).bytes),
        scale_bytes(format == CacheFormat::i8 ? kBlockPositions * 4 : 0),
        value_bytes(kBlockPositions * padded_dim(dim) * cache_info(format).bytes) {}
  std::int64_t key_bytes, scale_bytes, value_bytes;

  std::int64_t key_scales() const { return key_bytes; }
  std::int64_t values() const { return key_bytes + scale_bytes; }
  std::int64_t value_scales() const { return values() + value_bytes; }
  std::int64_t bytes() const { return value_scales() + scale_bytes; }
};

struct Kernels {
  std::string_view name;
  std::string_view needs;        // of the processor, for people
  std::int64_t tile_rows;        // rows that meet a weight while it is in a register
  std::int64_t few_rows;         // up to so many come in even tiles of at most
  std::int64_t few_tile_rows;    // so many
  std::int64_t group_tile_rows;  // the same of grouped matrices
  // i8, n4 and s6 take their rows as kRowBlock tells when there are at least so many; 0: never.
  std::int64_t blocks_from;
  bool (*is_supported)();  // by this machine

  // out = x / sqrt(mean(x^2) + epsilon) * weight
  void (*rms_norm)(const float* x, const float* weight, float epsilon, std::int64_t width,
                   float* out);
  // Symmetric int8: scale = max|x| / 127, values[i] = round(x[i] / scale) to even; `padded` values
  // are written, zeros at the end. A row with NaN or infinity gives the scale NaN and zeros.
  void (*quantize)(const float* x, std::int64_t width, std::int64_t padded, std::int8_t* values,
                   float* scale, std::int32_t* sum);
  // The same for every group of a row, of `inputs` values. Writes for each group the scale (f32),
  // scale * float(sum) (f32), a number of the table's own for weights whose zero is `zero` (int32;
  // see GroupedFormat), and the group's values: 12 + group bytes.
  void (*quantize_groups)(const float* x, std::int64_t inputs, std::int64_t group,
                          std::int32_t zero, std::byte* to);
  // Linears by format of the packed matrix (linear_of). x: floats for f32, bf16, f16, nf4 and
  // mxfp8, else int8.
  void (*linear_f32)(const LinearTask& task);
  void (*linear_bf16)(const LinearTask& task);
  void (*linear_f16)(const LinearTask& task);
  void (*linear_nf4)(const LinearTask& task);
  void (*linear_mxfp8)(const LinearTask& task);
  void (*linear_i8)(const LinearTask& task);
  void (*linear_n4)(const LinearTask& task);
  void (*linear_s6)(const LinearTask& task);
  void (*linear_grouped)(const LinearTask& task);
  // Rows of one sequence that share heads, dim and blocks; what a row gets depends on itself only.
  void (*attend[std::size(kCacheFormats)])(std::span<const AttentionTask> rows);  // by format
  // For benchmarks: `rounds` of nothing but multiplications and additions (ceiling.h), on 1024
  // bytes of operands; sixteen floats of nonsense come out. Returns how many operations these were.
  std::int64_t (*multiply_i8)(std::int64_t rounds, const std::byte* operands, float* sums);
  std::int64_t (*multiply_f32)(std::int64_t rounds, const std::byte* operands, float* sums);
};

// The tables of this build, best first; the scalar one is the last.
std::span<const Kernels* const> all_kernels();
// The first that the machine supports, or the one that LINNET_KERNELS names.
// Error{invalid_argument} for a name that is not one of them, unsupported where the machine cannot
// run it; both list what there is.
const Kernels& choose_kernels();

}  // namespace linnet
