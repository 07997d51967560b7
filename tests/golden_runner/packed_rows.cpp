#include "golden_runner/packed_rows.h"

#include <numeric>

#include "kernels/packed_matrix.h"
#include "kernels/tile_rows.h"

namespace golden {
namespace {

using linnet::PackedMatrix;

PackedMatrix pack(const linnet::CodedRows& rows, const linnet::MatrixFormat& format) {
  linnet::ThreadPool pool(1);
  std::vector<std::int64_t> order(static_cast<std::size_t>(rows.shape()[0]));
  std::iota(order.begin(), order.end(), 0);
  return PackedMatrix::pack(format, order, rows.shape()[1], rows, pool);
}

}  // namespace

std::vector<float> packed_values(const linnet::CodedRows& rows,
                                 const linnet::MatrixFormat& format) {
  const PackedMatrix matrix = pack(rows, format);
  const std::int64_t outputs = rows.shape()[0], inputs = rows.shape()[1];
  std::vector<float> values(static_cast<std::size_t>(outputs * inputs));
  for (std::int64_t row = 0; row < outputs; ++row) {
    matrix.decode_output(row, inputs, values.data() + row * inputs);
  }
  return values;
}

std::vector<float> packed_product(const linnet::CodedRows& rows, linnet::PackedFormat format,
                                  std::span<const float> x, std::int64_t count) {
  const PackedMatrix matrix = pack(rows, format);
  const linnet::PackedShape& shape = matrix.shape();
  const linnet::Kernels& kernels = linnet::choose_kernels();
  const std::int64_t bytes = shape.row_bytes(), outputs = rows.shape()[0];
  std::vector<std::byte> tiles(static_cast<std::size_t>(count * bytes));
  for (std::int64_t row = 0; row < count; ++row) {
    linnet::tile_row(x.data() + row * shape.inputs, row, count, bytes,
                     linnet::row_tiling(kernels, format, count), tiles.data());
  }
  std::vector<float> out(static_cast<std::size_t>(count * outputs));
  std::vector<std::byte> scratch(static_cast<std::size_t>(shape.scratch_bytes()));
  linnet::LinearTask task;
  task.strips = matrix.strips();
  task.strip_bytes = shape.strip_bytes();
  task.inputs = shape.inputs;
  task.end_strip = shape.strips();
  task.x.units = tiles.data();
  task.x.rows = count;
  task.out = out.data();
  task.out_stride = task.outputs = outputs;
  task.scratch = scratch.data();
  linnet::linear_of(kernels, format)(task);
  return out;
}

}  // namespace golden
