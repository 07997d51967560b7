#include "golden_runner/blocks_suite.h"

#include <fmt/core.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "golden_runner/compare.h"
#include "tensor/blocks.h"

namespace golden {
namespace {

using linnet::DType;
using linnet::Tensor;

Tensor array(const CaseContext& context, std::string_view part, std::string_view field) {
  return find_array(context.test_case, part, field, context.arrays).value();
}

std::optional<DType> type_of(const CaseContext& context) {
  std::string name = context.test_case.at("type").as_string("type");
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return linnet::dtype_from_name(name);
}

void verdict(const CaseContext& context, const std::optional<std::string>& fault) {
  fault ? context.report.fail(context.name(), *fault) : context.report.pass(context.name());
}

// Each result is a single rounding or two, so the bits must agree; zeros may differ in sign.
std::optional<std::string> bit_difference(std::span<const float> got,
                                          std::span<const float> expected) {
  if (got.size() != expected.size()) {
    return fmt::format("{} values, expected {}", got.size(), expected.size());
  }
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool same =
        std::bit_cast<std::uint32_t>(got[i]) == std::bit_cast<std::uint32_t>(expected[i]);
    const bool both_nan = std::isnan(got[i]) && std::isnan(expected[i]);
    if (same || both_nan || (got[i] == 0.0f && expected[i] == 0.0f)) continue;
    return fmt::format("value {}: got {:.9g}, expected {:.9g}", i, got[i], expected[i]);
  }
  return std::nullopt;
}

void run_dequantize(const CaseContext& context) {
  const auto dtype = type_of(context);
  if (!dtype) return context.report.fail(context.name(), "unknown type");
  const Tensor bytes = array(context, "inputs", "bytes");
  const Tensor expected = array(context, "expected", "values");
  const auto size = linnet::tensor_bytes(*dtype, expected.shape(), context.name());
  if (size != bytes.bytes().size()) {
    return context.report.fail(
        context.name(),
        fmt::format("our blocks take {} bytes, the file has {}", size, bytes.bytes().size()));
  }
  std::vector<float> got(static_cast<std::size_t>(expected.elements()));
  linnet::decode(*dtype, bytes.bytes().data(), got.data(), expected.elements());
  verdict(context, bit_difference(got, expected.to_floats()));
}

double largest_error(std::span<const float> got, std::span<const float> expected) {
  double largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::fabs(static_cast<double>(got[i]) - expected[i]);
    // A NaN must not look like a small error.
    largest = error <= largest ? largest : error;
    if (std::isnan(error)) return std::numeric_limits<double>::infinity();
  }
  return largest;
}

void run_quantize(const CaseContext& context) {
  const auto dtype = type_of(context);
  if (!dtype) return context.report.fail(context.name(), "unknown type");
  const Tensor values = array(context, "inputs", "values");
  const Tensor expected = array(context, "expected", "bytes");
  const std::vector<float> input = values.to_floats();
  std::vector<std::byte> got(linnet::tensor_bytes(*dtype, values.shape(), context.name()));
  if (got.size() != expected.bytes().size()) {
    return context.report.fail(
        context.name(), fmt::format("{} bytes, expected {}", got.size(), expected.bytes().size()));
  }
  linnet::encode(*dtype, input.data(), got.data(), values.elements());
  std::vector<float> decoded(input.size());
  linnet::decode(*dtype, got.data(), decoded.data(), values.elements());
  const double limit = context.test_case.at("max_abs_error").as_double("max_abs_error") * 1.01;
  const double error = largest_error(decoded, input);
  if (error > limit) {
    return context.report.fail(context.name(),
                               fmt::format("largest error {}, at most {}", error, limit));
  }
  // The reference may round ties the other way, so a few bytes may differ, but no more.
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i) wrong += got[i] != expected.bytes()[i] ? 1 : 0;
  const bool close = wrong * 50 <= got.size();
  verdict(context, close ? std::nullopt
                         : std::optional(fmt::format("{} of {} bytes differ", wrong, got.size())));
}

template <typename From, typename To, typename Convert>
std::optional<std::string> convert_all(const Tensor& input, const Tensor& expected,
                                       Convert convert) {
  if (input.elements() != expected.elements()) return "the arrays differ in length";
  const auto from = input.values<From>();
  const auto to = expected.values<To>();
  for (std::size_t i = 0; i < from.size(); ++i) {
    const To got = convert(from[i]);
    if (got != to[i]) {
      return fmt::format("{:#x}: got {:#x}, expected {:#x}", from[i], got, to[i]);
    }
  }
  return std::nullopt;
}

void run_convert(const CaseContext& context) {
  const std::string& name = context.name();
  const bool widens = name.ends_with("-to-float32");
  const Tensor input = array(context, "inputs", widens ? "bits16" : "bits32");
  const Tensor expected = array(context, "expected", widens ? "bits32" : "bits16");
  const bool bf16 = name.find("bf16") != std::string::npos;
  if (widens) {
    verdict(context,
            convert_all<std::uint16_t, std::uint32_t>(input, expected, [&](std::uint16_t bits) {
              return std::bit_cast<std::uint32_t>(bf16 ? linnet::bf16_to_f32(bits)
                                                       : linnet::f16_to_f32(bits));
            }));
  } else {
    verdict(context,
            convert_all<std::uint32_t, std::uint16_t>(input, expected, [&](std::uint32_t bits) {
              const float value = std::bit_cast<float>(bits);
              return bf16 ? linnet::f32_to_bf16(value) : linnet::f32_to_f16(value);
            }));
  }
}

}  // namespace

bool run_blocks_case(const CaseContext& context) {
  const std::string& kind = context.kind();
  if (kind == "dequantize") {
    run_dequantize(context);
  } else if (kind == "quantize") {
    run_quantize(context);
  } else if (kind == "convert") {
    run_convert(context);
  } else {
    return false;
  }
  return true;
}

}  // namespace golden
