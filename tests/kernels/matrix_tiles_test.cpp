// The algorithm of the matrix tiles with tiles in plain C++: the scalar bits over odd shapes, on
// machines without such tiles too. (The processor's own run in kernels_test.cpp where it has them.)
#include "kernels/matrix_tiles.h"

#include <doctest/doctest.h>

#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/lanes_scalar.h"
#include "kernels/packed_matrix.h"
#include "kernels/table.h"
#include "kernels/tile_rows.h"

using namespace linnet;

namespace {

// As the processor's tiles: what was not configured is zero, and touching it is an error.
class PlainTiles {
 public:
  void configure(std::int64_t m0, std::int64_t m1) {
    REQUIRE(m0 > 0);
    REQUIRE(m0 <= 16);
    REQUIRE(m1 <= 16);
    rows_[0] = m0, rows_[1] = m1;
  }
  template <int C>
  void zero() {
    std::memset(sums_[C], 0, sizeof sums_[C]);
  }
  template <int C>
  void load_sums(const std::int32_t* at) {
    for (std::int64_t m = 0; m < rows<C / 2>(); ++m) {
      std::memcpy(sums_[C][m], at + m * kStripOutputs, sizeof sums_[C][m]);
    }
  }
  template <int C>
  void store_sums(std::int32_t* at) const {
    for (std::int64_t m = 0; m < rows<C / 2>(); ++m) {
      std::memcpy(at + m * kStripOutputs, sums_[C][m], sizeof sums_[C][m]);
    }
  }
  template <int R>
  void load_rows(const std::byte* at) {
    for (std::int64_t m = 0; m < rows<R>(); ++m) std::memcpy(x_[R][m], at + 64 * m, 64);
  }
  template <int W>
  void load_weights(const std::byte* at) {
    for (int k = 0; k < 16; ++k) std::memcpy(weights_[W][k], at + 128 * k, 64);
  }
  template <int C>
  void multiply() {
    for (std::int64_t m = 0; m < rows<C / 2>(); ++m) {
      for (int k = 0; k < 64; ++k) {
        for (int n = 0; n < 16; ++n) {
          sums_[C][m][n] += x_[C / 2][m][k] * weights_[C % 2][k / 4][4 * n + k % 4];
        }
      }
    }
  }

 private:
  template <int R>
  std::int64_t rows() const {
    REQUIRE(rows_[R] > 0);
    return rows_[R];
  }

  std::int64_t rows_[2] = {};
  std::int32_t sums_[4][16][16];
  std::int8_t x_[2][16][64];
  std::uint8_t weights_[2][16][64];
};

const Kernels kPlain = with_tiles<ScalarLanes, PlainTiles>(
    make_table<ScalarLanes>("plain tiles", "nothing", [] { return true; }));

std::vector<float> random_floats(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 1);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

std::vector<float> multiply(const Kernels& table, const PackedMatrix& matrix,
                            const std::vector<float>& x, std::int64_t rows, std::int64_t outputs) {
  const PackedShape& shape = matrix.shape();
  const auto count = static_cast<std::size_t>(rows);
  const std::int64_t width = static_cast<std::int64_t>(x.size()) / rows;
  std::vector<std::byte> tiled(static_cast<std::size_t>(rows * shape.row_bytes()));
  std::vector<float> scales(count), out(static_cast<std::size_t>(rows * outputs));
  std::vector<std::int32_t> sums(count);
  std::vector<std::int8_t> codes(static_cast<std::size_t>(shape.inputs));
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto at = static_cast<std::size_t>(row);
    table.quantize(x.data() + row * width, width, shape.inputs, codes.data(), &scales[at],
                   &sums[at]);
    tile_row(codes.data(), row, rows, shape.row_bytes(), row_tiling(table, shape.format, rows),
             tiled.data());
  }
  std::vector<std::byte> scratch(static_cast<std::size_t>(kStripOutputs * shape.inputs));
  LinearTask task;
  task.strips = matrix.strips();
  task.strip_bytes = shape.strip_bytes();
  task.inputs = shape.inputs;
  task.end_strip = shape.strips();
  task.x = {tiled.data(), scales.data(), sums.data(), rows};
  task.out = out.data();
  task.out_stride = task.outputs = outputs;
  task.scratch = scratch.data();
  const auto linear = shape.format == PackedFormat::i8   ? table.linear_i8
                      : shape.format == PackedFormat::n4 ? table.linear_n4
                                                         : table.linear_s6;
  linear(task);
  return out;
}

}  // namespace

TEST_CASE("matrix tiles give the scalar bits, over odd shapes and row counts") {
  const Kernels& scalar = *all_kernels().back();
  ThreadPool pool(1);
  for (const PackedFormat format : {PackedFormat::i8, PackedFormat::n4, PackedFormat::s6}) {
    CAPTURE(packed_format_name(format));
    const std::int64_t shapes[][2] = {{64, 32}, {37, 40}, {640, 33}, {1100, 16}};
    for (const auto& shape : shapes) {
      const std::int64_t inputs = shape[0], outputs = shape[1];
      const std::vector<float> weights =
          random_floats(static_cast<std::size_t>(inputs * outputs), 1);
      std::vector<std::int64_t> order(static_cast<std::size_t>(outputs));
      std::iota(order.begin(), order.end(), 0);
      const PackedMatrix matrix = PackedMatrix::pack(
          format, order, inputs,
          [&](std::int64_t row, float* out) {
            std::copy_n(weights.data() + row * inputs, inputs, out);
          },
          pool);
      for (const std::int64_t rows : {1, 7, 8, 15, 16, 17, 31, 32, 33, 130, 161}) {
        CAPTURE(inputs);
        CAPTURE(outputs);
        CAPTURE(rows);
        const std::vector<float> x = random_floats(static_cast<std::size_t>(rows * inputs), 2);
        const auto expected = multiply(scalar, matrix, x, rows, outputs);
        const auto found = multiply(kPlain, matrix, x, rows, outputs);
        CHECK(std::memcmp(found.data(), expected.data(), expected.size() * sizeof(float)) == 0);
      }
    }
  }
  CHECK(row_tiling(kPlain, PackedFormat::i8, 8).unit_bytes == 64);
  CHECK(row_tiling(kPlain, PackedFormat::f32, 8).unit_bytes == 4);
}
