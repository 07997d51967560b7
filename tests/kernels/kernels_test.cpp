// Every table of kernels that this machine can run gives the bits of the scalar one, and the scalar
// one is right to within rounding of sums in f64.
#include "kernels/kernels.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "base/error.h"
#include "kernels/packed_matrix.h"
#include "kernels/tile_rows.h"

using namespace linnet;

namespace {

const Kernels& scalar() { return *all_kernels().back(); }

std::vector<float> random_floats(std::size_t count, unsigned seed, float scale = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

template <typename Check>
void for_each_table(Check check) {
  for (const Kernels* table : all_kernels()) {
    if (!table->is_supported()) continue;
    CAPTURE(table->name);
    check(*table);
  }
}

struct Linear {
  PackedFormat format;
  std::int64_t rows, inputs, outputs;
  Epilogue epilogue = Epilogue::store;
  Activation activation = Activation::silu;
  bool bias = false;
};

// Packed once; run by any table with any split of the strips.
class LinearCase {
 public:
  explicit LinearCase(const Linear& spec)
      : LinearCase(spec,
                   random_floats(static_cast<std::size_t>(spec.inputs * spec.outputs), 1, 0.05f)) {}
  LinearCase(const Linear& spec, std::vector<float> weights)
      : spec_(spec),
        weights_(std::move(weights)),
        x_(random_floats(static_cast<std::size_t>(spec.inputs * spec.rows), 2)),
        order_(static_cast<std::size_t>(spec.outputs)),
        pool_(1) {
    std::iota(order_.begin(), order_.end(), 0);
    matrix_ = PackedMatrix::pack(
        spec.format, order_, spec.inputs,
        [&](std::int64_t row, float* out) {
          std::copy_n(weights_.data() + row * spec_.inputs, spec_.inputs, out);
        },
        pool_);
    bias_ = random_floats(static_cast<std::size_t>(matrix_.shape().outputs), 3);
  }

  // The same with the weights that this one's codes stand for, in f32.
  LinearCase decoded() const {
    Linear spec = spec_;
    spec.format = PackedFormat::f32;
    std::vector<float> weights(weights_.size());
    for (std::int64_t output = 0; output < spec.outputs; ++output) {
      matrix_.decode_output(output, spec.inputs, weights.data() + output * spec.inputs);
    }
    return LinearCase(spec, std::move(weights));
  }

  std::vector<float>& x() { return x_; }
  std::int64_t result_width() const {
    return spec_.epilogue == Epilogue::gate ? matrix_.shape().outputs / 2 : spec_.outputs;
  }

  // Rows [first, first + count) of x.
  std::vector<float> run(const Kernels& table, std::int64_t first, std::int64_t count) const {
    const std::int64_t inputs = matrix_.shape().inputs, bytes = matrix_.shape().row_bytes();
    std::vector<std::byte> tiled(static_cast<std::size_t>(count * bytes));
    std::vector<float> scales(static_cast<std::size_t>(count));
    std::vector<std::int32_t> sums(static_cast<std::size_t>(count));
    std::vector<std::int8_t> codes(static_cast<std::size_t>(inputs));
    for (std::int64_t row = 0; row < count; ++row) {
      const float* source = x_.data() + (first + row) * spec_.inputs;
      const void* units_of_row = source;
      if (is_integer(spec_.format)) {
        table.quantize(source, spec_.inputs, inputs, codes.data(), &scales[row], &sums[row]);
        units_of_row = codes.data();
      }
      tile_row(units_of_row, row, count, bytes, row_tiling(table, spec_.format, count),
               tiled.data());
    }
    std::vector<float> out = random_floats(static_cast<std::size_t>(count * result_width()), 4);
    std::vector<std::byte> scratch(static_cast<std::size_t>(matrix_.shape().scratch_bytes()));
    LinearTask task;
    task.strips = matrix_.strips();
    task.strip_bytes = matrix_.shape().strip_bytes();
    task.inputs = inputs;
    task.x = {tiled.data(), scales.data(), sums.data(), count};
    task.bias = spec_.bias ? bias_.data() : nullptr;
    task.out = out.data();
    task.out_stride = result_width();
    task.outputs = result_width();
    task.epilogue = spec_.epilogue;
    task.activation = spec_.activation;
    task.scratch = scratch.data();
    // In two parts, as two threads would.
    const std::int64_t middle = matrix_.shape().strips() / 2;
    task.end_strip = middle;
    linear_of(table, spec_.format)(task);
    task.first_strip = middle;
    task.end_strip = matrix_.shape().strips();
    linear_of(table, spec_.format)(task);
    return out;
  }

  // The sum in f64 of what the kernel multiplies, without epilogue and bias.
  double expected(std::int64_t row, std::int64_t output) const {
    std::vector<float> weights(static_cast<std::size_t>(spec_.inputs));
    matrix_.decode_output(output, spec_.inputs, weights.data());
    double sum = 0;
    for (std::int64_t k = 0; k < spec_.inputs; ++k) {
      sum += static_cast<double>(weights[k]) * x_[static_cast<std::size_t>(row * spec_.inputs + k)];
    }
    return sum;
  }

 private:
  Linear spec_;
  std::vector<float> weights_, x_, bias_;
  std::vector<std::int64_t> order_;
  ThreadPool pool_;
  PackedMatrix matrix_;
};

}  // namespace

TEST_CASE("which tables are not tested here") {
  for (const Kernels* table : all_kernels()) {
    if (!table->is_supported()) {
      MESSAGE(table->name << ": this machine lacks " << table->needs);
    }
  }
  CHECK(scalar().is_supported());
}

TEST_CASE("every table multiplies to the scalar bits, over odd shapes and row counts") {
  const std::int64_t shapes[][2] = {{64, 32}, {1, 1}, {37, 40}, {128, 16}, {192, 33}, {576, 96}};
  for (const PackedFormat format : kPackedFormats) {
    CAPTURE(packed_format_name(format));
    for (const auto& shape : shapes) {
      for (const std::int64_t rows : {1, 2, 3, 5, 6, 7, 12, 13, 26}) {
        const LinearCase linear({format, rows, shape[0], shape[1]});
        const std::vector<float> expected = linear.run(scalar(), 0, rows);
        for_each_table([&](const Kernels& table) {
          CAPTURE(shape[0]);
          CAPTURE(shape[1]);
          CAPTURE(rows);
          CHECK(same_bits(linear.run(table, 0, rows), expected));
        });
      }
    }
  }
}

TEST_CASE("codes of floats multiply to the bits of the same weights in f32") {
  const std::int64_t shapes[][2] = {{64, 32}, {1, 1}, {37, 40}, {130, 16}, {193, 33}, {576, 96}};
  for (const PackedFormat format :
       {PackedFormat::bf16, PackedFormat::f16, PackedFormat::mxfp8, PackedFormat::nf4}) {
    CAPTURE(packed_format_name(format));
    for (const auto& shape : shapes) {
      for (const std::int64_t rows : {1, 2, 5, 8, 24, 25, 37}) {
        CAPTURE(shape[0]);
        CAPTURE(shape[1]);
        CAPTURE(rows);
        const LinearCase linear({format, rows, shape[0], shape[1]});
        const LinearCase decoded = linear.decoded();
        for_each_table([&](const Kernels& table) {
          CHECK(same_bits(linear.run(table, 0, rows), decoded.run(table, 0, rows)));
        });
      }
    }
  }
}

TEST_CASE("a row's product does not depend on the rows beside it") {
  for (const PackedFormat format : kPackedFormats) {
    CAPTURE(packed_format_name(format));
    const std::int64_t rows = 29, outputs = 64;
    const LinearCase linear({format, rows, 320, outputs});
    for_each_table([&](const Kernels& table) {
      const std::vector<float> together = linear.run(table, 0, rows);
      for (std::int64_t row = 0; row < rows; ++row) {
        const std::vector<float> alone = linear.run(table, row, 1);
        const std::vector<float> part(together.begin() + row * outputs,
                                      together.begin() + (row + 1) * outputs);
        CHECK(same_bits(alone, part));
      }
    });
  }
}

TEST_CASE("linear: epilogues, bias and activations have the scalar bits") {
  for (const PackedFormat format : kPackedFormats) {
    for (const Epilogue epilogue : {Epilogue::store, Epilogue::add, Epilogue::gate}) {
      for (const Activation activation : {Activation::silu, Activation::gelu_tanh}) {
        const LinearCase linear({format, 7, 96, 96, epilogue, activation, true});
        const std::vector<float> expected = linear.run(scalar(), 0, 7);
        for_each_table(
            [&](const Kernels& table) { CHECK(same_bits(linear.run(table, 0, 7), expected)); });
      }
    }
  }
}

TEST_CASE("linear: the scalar table is right") {
  for (const PackedFormat format : kPackedFormats) {
    CAPTURE(packed_format_name(format));
    const LinearCase linear({format, 3, 200, 70});
    const std::vector<float> got = linear.run(scalar(), 0, 3);
    // Int8 activations are off by up to half a step of 1/127 of the largest, here some 3.
    const double tolerance = is_integer(format) ? 0.1 : 1e-5;
    for (std::int64_t row = 0; row < 3; ++row) {
      for (std::int64_t output = 0; output < 70; ++output) {
        const double found = got[static_cast<std::size_t>(row * 70 + output)];
        CHECK(std::fabs(found - linear.expected(row, output)) <= tolerance);
      }
    }
  }
}

TEST_CASE("a row that is not finite stays so, and leaves the others alone") {
  for (const PackedFormat format : kPackedFormats) {
    CAPTURE(packed_format_name(format));
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      LinearCase linear({format, 2, 64, 32});
      for_each_table([&](const Kernels& table) {
        const std::vector<float> before = linear.run(table, 1, 1);
        const float kept = std::exchange(linear.x()[5], bad);
        const std::vector<float> out = linear.run(table, 0, 2);
        linear.x()[5] = kept;
        for (int i = 0; i < 32; ++i) CHECK(!std::isfinite(out[i]));
        CHECK(same_bits({out.begin() + 32, out.end()}, before));
      });
    }
  }
}

TEST_CASE("rms_norm: scalar bits on every table, right in the scalar one") {
  for (const std::int64_t width : {1, 8, 16, 37, 64, 100, 576, 2048}) {
    CAPTURE(width);
    const auto count = static_cast<std::size_t>(width);
    const std::vector<float> x = random_floats(count, 7, 3), weight = random_floats(count, 8);
    std::vector<float> expected(count);
    scalar().rms_norm(x.data(), weight.data(), 1e-6f, width, expected.data());
    double squares = 0;
    for (const float value : x) squares += static_cast<double>(value) * value;
    const double factor = 1 / std::sqrt(squares / static_cast<double>(width) + 1e-6);
    for (std::size_t i = 0; i < count; ++i) {
      CHECK(expected[i] == doctest::Approx(x[i] * factor * weight[i]).epsilon(1e-5));
    }
    for_each_table([&](const Kernels& table) {
      std::vector<float> out(count);
      table.rms_norm(x.data(), weight.data(), 1e-6f, width, out.data());
      CHECK(same_bits(out, expected));
    });
  }
}

TEST_CASE("quantize: codes, scale and sum are the scalar table's, ties go to even") {
  std::vector<std::vector<float>> rows = {random_floats(2048, 9),
                                          random_floats(37, 10, 1e-20f),
                                          {127, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f},
                                          std::vector<float>(20, 0.0f),
                                          {1e-40f, -1e-41f},
                                          {3.4e38f, -1e38f}};
  rows.push_back(random_floats(64, 11));
  rows.back()[63] = std::numeric_limits<float>::quiet_NaN();
  for (const std::vector<float>& row : rows) {
    const auto width = static_cast<std::int64_t>(row.size());
    const std::int64_t padded = (width + 63) / 64 * 64;
    std::vector<std::int8_t> expected(static_cast<std::size_t>(padded));
    float scale;
    std::int32_t sum;
    scalar().quantize(row.data(), width, padded, expected.data(), &scale, &sum);
    CHECK(sum == std::accumulate(expected.begin(), expected.end(), 0));
    for_each_table([&](const Kernels& table) {
      std::vector<std::int8_t> codes(static_cast<std::size_t>(padded), 99);
      float table_scale;
      std::int32_t table_sum;
      table.quantize(row.data(), width, padded, codes.data(), &table_scale, &table_sum);
      CHECK(codes == expected);
      CHECK(same_bits({table_scale}, {scale}));
      CHECK(table_sum == sum);
    });
  }
  std::vector<std::int8_t> codes(64);
  float scale;
  std::int32_t sum;
  scalar().quantize(rows[2].data(), 6, 64, codes.data(), &scale, &sum);
  CHECK(scale == 1.0f);
  CHECK(std::vector<int>(codes.begin(), codes.begin() + 6) ==
        std::vector<int>{127, 0, 2, 2, 0, -2});
}

namespace {

// A context of one key/value head in blocks, and queries for it.
class AttentionCase {
 public:
  AttentionCase(CacheFormat format, std::int64_t heads, std::int64_t dim, std::int64_t positions)
      : format_(format),
        heads_(heads),
        dim_(dim),
        layout_(format, dim),
        query_(random_floats(static_cast<std::size_t>(heads * dim), 20)),
        keys_(random_floats(static_cast<std::size_t>(positions * dim), 21)),
        values_(random_floats(static_cast<std::size_t>(positions * dim), 22)) {
    for (std::int64_t p = 0; p < positions; ++p) {
      // What lies behind the context is no number; it must not matter.
      if (p % kBlockPositions == 0) {
        blocks_.emplace_back(static_cast<std::size_t>(layout_.bytes()), std::byte{0xFF});
      }
      if (format == CacheFormat::f32) {
        put_numbers<float>(p, [](float x) { return x; });
      } else if (format == CacheFormat::f16) {
        put_numbers<std::uint16_t>(p, f32_to_f16);
      } else {
        put_bytes(p);
      }
    }
    for (const auto& block : blocks_) pointers_.push_back(block.data());
  }

  std::vector<float> run(const Kernels& table, std::int64_t first, std::int64_t end) const {
    return run_rows(table, {{first, end}});
  }
  // One row for each range of positions, all in one call; their results one after the other.
  std::vector<float> run_rows(
      const Kernels& table,
      const std::vector<std::pair<std::int64_t, std::int64_t>>& ranges) const {
    const std::int64_t width = padded_dim(dim_), row_floats = heads_ * (width + 2);
    std::vector<float> out(ranges.size() * static_cast<std::size_t>(row_floats));
    std::vector<std::int8_t> codes(static_cast<std::size_t>(heads_ * width));
    std::vector<float> scales(static_cast<std::size_t>(heads_));
    std::vector<std::int32_t> sums(static_cast<std::size_t>(heads_));
    for (std::int64_t h = 0; h < heads_; ++h) {
      scalar().quantize(query_.data() + h * dim_, dim_, width, codes.data() + h * width, &scales[h],
                        &sums[h]);
    }
    std::vector<AttentionTask> tasks(ranges.size());
    for (std::size_t row = 0; row < ranges.size(); ++row) {
      AttentionTask& task = tasks[row];
      task.query = query_.data();
      task.codes = codes.data();
      task.code_scale = scales.data();
      task.code_sum = sums.data();
      task.heads = heads_;
      task.dim = dim_;
      task.scale = 0.3f;
      task.blocks = pointers_.data();
      task.first = ranges[row].first;
      task.end = ranges[row].second;
      task.largest = out.data() + static_cast<std::int64_t>(row) * row_floats;
      task.sum = task.largest + heads_;
      task.mixed = task.sum + heads_;
    }
    table.attend[static_cast<std::size_t>(format_)](tasks);
    return out;
  }

  double expected(std::int64_t head, std::int64_t d, std::int64_t first, std::int64_t end) const {
    double sum = 0, mixed = 0;
    for (std::int64_t p = first; p < end; ++p) {
      double score = 0;
      for (std::int64_t i = 0; i < dim_; ++i) {
        score += static_cast<double>(query_[static_cast<std::size_t>(head * dim_ + i)]) *
                 keys_[static_cast<std::size_t>(p * dim_ + i)];
      }
      sum += std::exp(0.3 * score);
      mixed += std::exp(0.3 * score) * values_[static_cast<std::size_t>(p * dim_ + d)];
    }
    return mixed / sum;
  }

 private:
  template <typename T>
  T* in_block(std::int64_t offset) {
    return reinterpret_cast<T*>(blocks_.back().data() + offset);
  }
  template <typename Number, typename Convert>
  void put_numbers(std::int64_t p, Convert convert) {
    const std::int64_t i = p % kBlockPositions;
    for (std::int64_t d = 0; d < padded_dim(dim_); ++d) {
      const bool is_real = d < dim_;
      const auto source = static_cast<std::size_t>(p * dim_ + d);
      if (is_real) {
        in_block<Number>(0)[(i / 16 * dim_ + d) * 16 + i % 16] = convert(keys_[source]);
      }
      in_block<Number>(layout_.values())[i * padded_dim(dim_) + d] =
          convert(is_real ? values_[source] : 0.0f);
    }
  }
  void put_bytes(std::int64_t p) {
    const std::int64_t i = p % kBlockPositions, width = padded_dim(dim_);
    std::vector<std::int8_t> codes(static_cast<std::size_t>(width));
    std::int32_t sum;
    scalar().quantize(keys_.data() + p * dim_, dim_, width, codes.data(),
                      in_block<float>(layout_.key_scales()) + i, &sum);
    for (std::int64_t d = 0; d < width; ++d) {
      in_block<std::uint8_t>(0)[(i / 16 * width / 4 + d / 4) * 64 + i % 16 * 4 + d % 4] =
          static_cast<std::uint8_t>(codes[d] + 128);
    }
    scalar().quantize(values_.data() + p * dim_, dim_, width, codes.data(),
                      in_block<float>(layout_.value_scales()) + i, &sum);
    for (std::int64_t d = 0; d < width; ++d) {
      in_block<std::int8_t>(layout_.values())[(i / 2 * width + d) * 2 + i % 2] = codes[d];
    }
  }

  CacheFormat format_;
  std::int64_t heads_, dim_;
  HeadBlock layout_;
  std::vector<float> query_, keys_, values_;
  std::vector<std::vector<std::byte>> blocks_;
  std::vector<const std::byte*> pointers_;
};

void check_attention(CacheFormat format, double tolerance) {
  for (const std::int64_t heads : {1, 2, 3, 4, 5, 9}) {
    for (const std::int64_t dim : {8, 16, 37, 64}) {
      for (const std::int64_t positions : {1, 17, 64, 65, 200}) {
        const AttentionCase attention(format, heads, dim, positions);
        for (const std::int64_t first : {std::int64_t{0}, positions / 2, positions - 1}) {
          CAPTURE(heads);
          CAPTURE(dim);
          CAPTURE(positions);
          CAPTURE(first);
          const std::vector<float> expected = attention.run(scalar(), first, positions);
          for (std::int64_t h = 0; h < heads; ++h) {
            const float sum = expected[static_cast<std::size_t>(heads + h)];
            const float* mixed = expected.data() + 2 * heads + h * padded_dim(dim);
            for (std::int64_t d = 0; d < dim; d += 5) {
              const double right = attention.expected(h, d, first, positions);
              CHECK(std::fabs(mixed[d] / sum - right) < tolerance);
            }
          }
          for_each_table([&](const Kernels& table) {
            CHECK(same_bits(attention.run(table, first, positions), expected));
          });
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("attend: right over f32, and the scalar bits on every table") {
  check_attention(CacheFormat::f32, 1e-5);
}

TEST_CASE("attend: right over f16, and the scalar bits on every table") {
  check_attention(CacheFormat::f16, 2e-3);
}

TEST_CASE("attend: right over int8, and the scalar bits on every table") {
  check_attention(CacheFormat::i8, 0.06);
}

TEST_CASE("attend: a row has the same bits alone and among its neighbours") {
  for (const CacheFormat format : {CacheFormat::f32, CacheFormat::f16, CacheFormat::i8}) {
    const AttentionCase attention(format, 5, 37, 200);
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
    for (std::int64_t row = 0; row < 21; ++row) ranges.emplace_back(3 * row, 120 + row);
    std::vector<float> alone;
    for (const auto& range : ranges) {
      const auto result = attention.run(scalar(), range.first, range.second);
      alone.insert(alone.end(), result.begin(), result.end());
    }
    for_each_table(
        [&](const Kernels& table) { CHECK(same_bits(attention.run_rows(table, ranges), alone)); });
  }
}

TEST_CASE("LINNET_KERNELS chooses a table by name, or says what there is") {
  ::setenv("LINNET_KERNELS", "scalar", 1);
  CHECK(choose_kernels().name == "scalar");
  ::setenv("LINNET_KERNELS", "sse9", 1);
  CHECK_THROWS_WITH_AS(choose_kernels(), doctest::Contains("sse9"), Error);
  ::unsetenv("LINNET_KERNELS");
  CHECK(choose_kernels().is_supported());
}
