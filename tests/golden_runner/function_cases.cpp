#include <cmath>

#include "golden_runner/compare.h"
#include "golden_runner/models_suite.h"
#include "program/program.h"
#include "tensor/functions.h"

namespace golden {
namespace {

using linnet::Json;
using linnet::Tensor;

Tensor input(const CaseContext& context, std::string_view field) {
  return find_array(context.test_case, "inputs", field, context.arrays).value();
}

void compare(const CaseContext& context, const std::string& field, std::span<const float> got) {
  const Tensor expected = find_array(context.test_case, "expected", field, context.arrays).value();
  context.judge(field, got, expected.to_floats());
}

void run_activation(const CaseContext& context) {
  const std::string& op = context.test_case.at("op").as_string("op");
  const auto activation = op == "silu"   ? linnet::Activation::silu
                          : op == "gelu" ? linnet::Activation::gelu
                          : op == "relu" ? linnet::Activation::relu
                                         : linnet::Activation::gelu_tanh;
  std::vector<float> values = input(context, "x").to_floats();
  for (float& value : values) value = linnet::activate(activation, value);
  compare(context, "y", values);
}

void run_rms_norm(const CaseContext& context) {
  const Tensor x = input(context, "x");
  const std::vector<float> values = x.to_floats(), weight = input(context, "weight").to_floats();
  const auto epsilon = static_cast<float>(context.test_case.at("eps").as_double("eps"));
  const std::int64_t width = x.dim(x.rank() - 1);
  std::vector<float> out(values.size());
  for (std::int64_t row = 0; row < x.rows(); ++row) {
    linnet::rms_norm(&values[row * width], weight.data(), epsilon, &out[row * width], width);
  }
  compare(context, "y", out);
}

void run_softmax(const CaseContext& context) {
  const Tensor x = input(context, "x");
  std::vector<float> values = x.to_floats();
  const std::int64_t width = x.dim(x.rank() - 1);
  for (std::int64_t row = 0; row < x.rows(); ++row) linnet::softmax(&values[row * width], width);
  compare(context, "y", values);
}

// [batch, heads, T, head_dim], batch 1 or more.
std::vector<float> rotate_all(const Tensor& x, const linnet::RopeTable& table,
                              const std::vector<std::int64_t>& positions) {
  const std::vector<float> values = x.to_floats();
  std::vector<float> out(values.size());
  const std::int64_t length = x.dim(2), dim = x.dim(3), half = dim / 2;
  std::vector<float> cosine(half), sine(half);
  for (std::int64_t row = 0; row < x.rows(); ++row) {
    linnet::rotation(table, positions[row % length], cosine.data(), sine.data());
    linnet::rotate_head(&values[row * dim], cosine.data(), sine.data(), half, &out[row * dim]);
  }
  return out;
}

void run_rope(const CaseContext& context) {
  const double theta = context.test_case.at("theta").as_double("theta");
  const std::int64_t dim = context.test_case.at("head_dim").as_int("head_dim");
  linnet::RopeTable table;
  for (std::int64_t i = 0; i < dim / 2; ++i) {
    table.inverse_frequency.push_back(
        std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(dim)));
  }
  const auto positions = input(context, "positions").to_ints();
  compare(context, "q_rotated", rotate_all(input(context, "q"), table, positions));
  compare(context, "k_rotated", rotate_all(input(context, "k"), table, positions));
}

}  // namespace

bool run_function_case(const CaseContext& context) {
  const std::string& kind = context.kind();
  if (kind == "activation") return run_activation(context), true;
  if (kind == "rms_norm") return run_rms_norm(context), true;
  if (kind == "softmax") return run_softmax(context), true;
  if (kind == "rope") return run_rope(context), true;
  return false;
}

}  // namespace golden
