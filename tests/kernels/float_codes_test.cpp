// Matrices of float codes: rows keep their codes, and decode to what their formats say.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "kernels/packed_matrix.h"
#include "tensor/microscaling.h"
#include "tensor/nf4.h"

using namespace linnet;

namespace {

constexpr std::int64_t kOutputs = 40, kInputs = 192;

// Codes and scales as a file might have them, with every code among them.
class CodeRows final : public RowSource {
 public:
  explicit CodeRows(FloatCode code) : code_(code) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (std::int64_t row = 0; row < kOutputs; ++row) {
      FloatCodeRow made;
      for (std::int64_t k = 0; k < kInputs; ++k) {
        const auto bits = static_cast<std::uint8_t>(row * 7 + k);
        made.codes.push_back(code == FloatCode::nf4 ? bits & 15 : bits);
      }
      for (std::int64_t k = 0; k < kInputs; k += float_group(code)) {
        const auto exponent = static_cast<std::uint8_t>((row * 13 + k) % 255);
        made.scales.push_back(code == FloatCode::nf4 ? normal(random) : e8m0_to_f32(exponent));
      }
      rows_.push_back(std::move(made));
    }
  }
  void decode_row(std::int64_t row, float* out) const override {
    const FloatCodeRow& from = rows_[static_cast<std::size_t>(row)];
    for (std::size_t k = 0; k < from.codes.size(); ++k) {
      out[k] = float_value(code_, from.codes[k]) *
               from.scales[k / static_cast<std::size_t>(float_group(code_))];
    }
  }
  bool read_float_codes(std::int64_t row, FloatCode code, FloatCodeRow& out) const override {
    if (code != code_) return false;
    out = rows_[static_cast<std::size_t>(row)];
    return true;
  }

 private:
  FloatCode code_;
  std::vector<FloatCodeRow> rows_;
};

// The outputs of a matrix for one row of activations that picks out input k.
std::vector<float> picked(const Kernels& table, const PackedMatrix& matrix, std::int64_t k) {
  std::vector<float> x(static_cast<std::size_t>(kInputs)), out(static_cast<std::size_t>(kOutputs));
  x[static_cast<std::size_t>(k)] = 1;
  std::vector<std::byte> scratch(static_cast<std::size_t>(matrix.shape().scratch_bytes()));
  LinearTask task;
  task.strips = matrix.strips();
  task.strip_bytes = matrix.shape().strip_bytes();
  task.inputs = kInputs;
  task.end_strip = matrix.shape().strips();
  task.x.units = reinterpret_cast<const std::byte*>(x.data());
  task.x.rows = 1;
  task.out = out.data();
  task.out_stride = task.outputs = kOutputs;
  task.scratch = scratch.data();
  linear_of(table, matrix.shape().format)(task);
  return out;
}

PackedMatrix pack(PackedFormat format, const RowSource& rows) {
  ThreadPool pool(1);
  std::vector<std::int64_t> order(static_cast<std::size_t>(kOutputs));
  std::iota(order.begin(), order.end(), 0);
  return PackedMatrix::pack(format, order, kInputs, rows, pool);
}

}  // namespace

TEST_CASE("stored codes are kept, and every table widens them to what they stand for") {
  for (const PackedFormat format : {PackedFormat::nf4, PackedFormat::mxfp8}) {
    CAPTURE(packed_format_name(format));
    const CodeRows rows(*float_code(format));
    const PackedMatrix matrix = pack(format, rows);
    std::vector<float> stored(static_cast<std::size_t>(kInputs * kOutputs)), held = stored;
    std::size_t wrong = 0, nans = 0;
    for (std::int64_t row = 0; row < kOutputs; ++row) {
      float* expected = stored.data() + row * kInputs;
      float* got = held.data() + row * kInputs;
      rows.decode_row(row, expected);
      matrix.decode_output(row, kInputs, got);
      const std::int64_t group = float_group(*float_code(format));
      for (std::int64_t k = 0; k < kInputs; ++k) {
        // A code that is no number takes its group along.
        const float* first = expected + k / group * group;
        const bool has_nan =
            std::any_of(first, first + group, [](float value) { return std::isnan(value); });
        nans += has_nan;
        wrong += has_nan ? !std::isnan(got[k]) : std::memcmp(got + k, expected + k, 4) != 0;
      }
    }
    CHECK(wrong == 0);
    CHECK((nans > 0) == (format == PackedFormat::mxfp8));
    for (const Kernels* table : all_kernels()) {
      if (!table->is_supported()) continue;
      CAPTURE(table->name);
      for (std::int64_t k = 0; k < kInputs; k += 5) {
        const std::vector<float> out = picked(*table, matrix, k);
        for (std::int64_t row = 0; row < kOutputs; ++row) {
          const float* weights = held.data() + row * kInputs;
          const bool is_finite = std::all_of(weights, weights + kInputs,
                                             [](float value) { return std::isfinite(value); });
          const float found = out[static_cast<std::size_t>(row)];
          wrong += is_finite ? found != weights[k] : !std::isnan(found);
        }
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("rows that are encoded have the codes of the format's own encoder") {
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  std::vector<float> row(192);
  for (float& value : row) value = normal(random);
  FloatCodeRow coded;
  std::vector<float> expected(row.size());
  encode_float_codes(FloatCode::nf4, row, coded);
  const Nf4Tensor nf4 = encode_nf4(row, 64);
  decode_nf4(nf4.packed, nf4.absmax, 64, expected);
  for (std::size_t i = 0; i < row.size(); ++i) {
    CHECK(float_value(FloatCode::nf4, coded.codes[i]) * coded.scales[i / 64] == expected[i]);
  }
  encode_float_codes(FloatCode::mxfp8, row, coded);
  std::vector<std::uint32_t> words(row.size() / 4);
  std::vector<std::uint8_t> scales(row.size() / 32);
  encode_microscaled(Microscaling::mxfp8, row, words, scales);
  decode_microscaled(Microscaling::mxfp8, words, scales, expected);
  for (std::size_t i = 0; i < row.size(); ++i) {
    CHECK(float_value(FloatCode::mxfp8, coded.codes[i]) * coded.scales[i / 32] == expected[i]);
  }
}
