// Cases of quantized rows: affine codes, microscaled formats, tables of small floats.
#include <fmt/core.h>

#include <cmath>
#include <vector>

#include "golden_runner/compare.h"
#include "golden_runner/models_suite.h"
#include "golden_runner/packed_rows.h"
#include "tensor/affine.h"
#include "tensor/coded_rows.h"
#include "tensor/microscaling.h"
#include "tensor/packed_codes.h"

namespace golden {
namespace {

using linnet::AffineFormat;
using linnet::Microscaling;
using linnet::Tensor;

Tensor input(const CaseContext& context, std::string_view field) {
  return find_array(context.test_case, "inputs", field, context.arrays).value();
}
Tensor expected(const CaseContext& context, std::string_view field) {
  return find_array(context.test_case, "expected", field, context.arrays).value();
}

template <typename T>
std::span<const T> row_of(const Tensor& tensor, std::int64_t row) {
  const auto width = static_cast<std::size_t>(tensor.dim(-1));
  return tensor.values<T>().subspan(static_cast<std::size_t>(row) * width, width);
}

void verdict(const CaseContext& context, const std::optional<std::string>& fault) {
  fault ? context.report.fail(context.name(), *fault) : context.report.pass(context.name());
}

std::int64_t number(const CaseContext& context, std::string_view key) {
  return context.test_case.at(key).as_int(key);
}

AffineFormat affine_format(const CaseContext& context) {
  return {static_cast<int>(number(context, "bits")), number(context, "group")};
}

Microscaling mode_of(const CaseContext& context) {
  const std::string& name = context.test_case.at("mode").as_string("mode");
  for (const Microscaling mode : {Microscaling::mxfp4, Microscaling::mxfp8, Microscaling::nvfp4}) {
    if (linnet::microscaling_info(mode).name == name) return mode;
  }
  throw std::runtime_error("unknown mode " + name);
}

// y = x W^T of the decoded rows, summed in f64.
std::optional<std::string> product_fault(const CaseContext& context, std::span<const float> weights,
                                         std::int64_t rows) {
  const Tensor x = input(context, "x"), want = expected(context, "x_times_w_transposed");
  const std::int64_t width = x.dim(-1);
  std::vector<float> got;
  for (std::int64_t i = 0; i < x.dim(0); ++i) {
    for (std::int64_t j = 0; j < rows; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < width; ++k) {
        sum += static_cast<double>(row_of<float>(x, i)[static_cast<std::size_t>(k)]) *
               weights[static_cast<std::size_t>(j * width + k)];
      }
      got.push_back(static_cast<float>(sum));
    }
  }
  return difference(got, want.to_floats(), {});
}

void run_affine_decode(const CaseContext& context) {
  const AffineFormat format = affine_format(context);
  const Tensor words = input(context, "words"), scales = input(context, "scales"),
               biases = input(context, "biases"), values = expected(context, "values");
  std::vector<float> got(static_cast<std::size_t>(values.elements()));
  const auto width = static_cast<std::size_t>(values.dim(-1));
  for (std::int64_t row = 0; row < values.dim(0); ++row) {
    linnet::decode_affine(
        format,
        {row_of<std::uint32_t>(words, row), row_of<float>(scales, row), row_of<float>(biases, row)},
        std::span(got).subspan(static_cast<std::size_t>(row) * width, width));
  }
  auto fault = difference(got, values.to_floats(), Tolerance::of(context.head, context.test_case));
  if (!fault) fault = product_fault(context, got, values.dim(0));
  if (!fault) {
    const auto rows = linnet::affine_rows(format, words, scales, biases);
    fault = difference(packed_values(*rows, *rows->grouped()), got, {0, 0});
  }
  verdict(context, fault);
}

void run_affine_encode(const CaseContext& context) {
  const AffineFormat format = affine_format(context);
  const Tensor values = input(context, "values"), want_words = expected(context, "words");
  const auto width = static_cast<std::size_t>(values.dim(-1));
  const auto groups = width / static_cast<std::size_t>(format.group);
  std::vector<float> scales, biases, decoded;
  std::size_t far_codes = 0;
  for (std::int64_t row = 0; row < values.dim(0); ++row) {
    std::vector<std::uint32_t> words(static_cast<std::size_t>(want_words.dim(-1)));
    std::vector<float> row_scales(groups), row_biases(groups), row_decoded(width);
    const auto source = row_of<float>(values, row);
    linnet::encode_affine(format, source, words, row_scales, row_biases);
    linnet::decode_affine(format, {words, row_scales, row_biases}, row_decoded);
    std::vector<std::uint8_t> got(width), want(width);
    linnet::unpack_codes(words, format.bits, got);
    linnet::unpack_codes(row_of<std::uint32_t>(want_words, row), format.bits, want);
    for (std::size_t i = 0; i < width; ++i) {
      if (got[i] == want[i]) continue;
      // Off by one is right where the value lies on the border of two codes.
      const std::size_t g = i / static_cast<std::size_t>(format.group);
      const double steps = (source[i] - row_biases[g]) / row_scales[g];
      const bool is_tie = std::fabs(std::fabs(steps - std::floor(steps)) - 0.5) < 1e-4;
      far_codes += is_tie && std::abs(got[i] - want[i]) == 1 ? 0 : 1;
    }
    scales.insert(scales.end(), row_scales.begin(), row_scales.end());
    biases.insert(biases.end(), row_biases.begin(), row_biases.end());
  }
  const Tolerance tolerance = Tolerance::of(context.head, context.test_case);
  auto fault = difference(scales, expected(context, "scales").to_floats(), tolerance);
  if (!fault) fault = difference(biases, expected(context, "biases").to_floats(), tolerance);
  if (!fault && far_codes > 0) fault = fmt::format("{} codes differ", far_codes);
  verdict(context, fault);
}

void run_table(const CaseContext& context) {
  const std::vector<std::int64_t> codes = input(context, "codes").to_ints();
  std::vector<float> got;
  for (const std::int64_t code : codes) {
    const auto byte = static_cast<std::uint8_t>(code);
    got.push_back(context.name().starts_with("e4m3")   ? linnet::e4m3_to_f32(byte)
                  : context.name().starts_with("e2m1") ? linnet::e2m1_to_f32(byte)
                                                       : linnet::e8m0_to_f32(byte));
  }
  verdict(context, difference(got, expected(context, "values").to_floats(), {0, 0}));
}

void run_microscaled_decode(const CaseContext& context) {
  const Tensor words = input(context, "words"), scales = input(context, "scales"),
               values = expected(context, "values");
  std::vector<float> got(static_cast<std::size_t>(values.elements()));
  const auto width = static_cast<std::size_t>(values.dim(-1));
  for (std::int64_t row = 0; row < values.dim(0); ++row) {
    linnet::decode_microscaled(
        mode_of(context), row_of<std::uint32_t>(words, row), row_of<std::uint8_t>(scales, row),
        std::span(got).subspan(static_cast<std::size_t>(row) * width, width));
  }
  auto fault = difference(got, values.to_floats(), {0, 0});
  if (!fault) {
    const auto rows = linnet::microscaled_rows(mode_of(context), words, scales);
    const auto grouped = rows->grouped();
    const auto held = grouped ? packed_values(*rows, *grouped)
                              : packed_values(*rows, linnet::PackedFormat::mxfp8);
    fault = difference(held, got, {0, 0});
  }
  const Tensor rounded = expected(context, "values_bf16");
  for (std::size_t i = 0; !fault && i < got.size(); ++i) {
    if (linnet::f32_to_bf16(got[i]) != rounded.values<std::uint16_t>()[i]) {
      fault = fmt::format("value {} rounds to another bf16", i);
    }
  }
  verdict(context, fault);
}

void run_microscaled_encode(const CaseContext& context) {
  const Tensor values = input(context, "values"), want_words = expected(context, "words"),
               want_scales = expected(context, "scales");
  const auto width = static_cast<std::size_t>(values.dim(-1));
  double largest = 0;
  std::size_t other = 0;
  for (std::int64_t row = 0; row < values.dim(0); ++row) {
    std::vector<std::uint32_t> words(static_cast<std::size_t>(want_words.dim(-1)));
    std::vector<std::uint8_t> scales(static_cast<std::size_t>(want_scales.dim(-1)));
    std::vector<float> decoded(width);
    const auto source = row_of<float>(values, row);
    linnet::encode_microscaled(mode_of(context), source, words, scales);
    linnet::decode_microscaled(mode_of(context), words, scales, decoded);
    for (std::size_t i = 0; i < width; ++i) {
      largest = std::max(largest, std::fabs(static_cast<double>(decoded[i]) - source[i]));
    }
    const auto want = row_of<std::uint32_t>(want_words, row);
    other += !std::equal(words.begin(), words.end(), want.begin());
  }
  const double limit = context.test_case.at("max_abs_error").as_double("max_abs_error");
  std::optional<std::string> fault;
  if (largest > limit * 1.0001) fault = fmt::format("largest error {}, at most {}", largest, limit);
  if (!fault && other > 0) fault = fmt::format("{} rows have other words", other);
  verdict(context, fault);
}

}  // namespace

bool run_quantized_case(const CaseContext& context) {
  const std::string& kind = context.kind();
  if (kind == "affine-decode") {
    run_affine_decode(context);
  } else if (kind == "affine-encode") {
    run_affine_encode(context);
  } else if (kind == "table") {
    run_table(context);
  } else if (kind == "microscaled-decode") {
    run_microscaled_decode(context);
  } else if (kind == "microscaled-encode") {
    run_microscaled_encode(context);
  } else {
    return false;
  }
  return true;
}

}  // namespace golden
