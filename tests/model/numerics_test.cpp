// Faults that other runtimes of this model had, each as a small input.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/forward.h"
#include "model/model_folder.h"
#include "tensor/blocks.h"

using namespace linnet;
using linnet::testing::ModelFolder;

namespace {

float bf16(float value) { return bf16_to_f32(f32_to_bf16(value)); }

std::vector<float> logits(const Model& model, const std::vector<std::int64_t>& tokens,
                          const std::vector<std::int64_t>& positions) {
  ForwardRequest request;
  request.input.batch = 1;
  request.input.length = static_cast<std::int64_t>(tokens.size());
  request.input.tokens = tokens;
  request.input.positions = positions;
  return forward(model, request).logits;
}

// Four layers, of which those with a 1 rotate.
void configure(ModelFolder& folder, const char* no_rope_layers) {
  folder.set("architectures", R"(["SmolLM3ForCausalLM"])");
  folder.set("num_hidden_layers", "4");
  folder.set("no_rope_layers", no_rope_layers);
  folder.make_tensors();
}

}  // namespace

TEST_CASE("layers rotate where the list has a 1, not elsewhere, not everywhere") {
  ModelFolder right, everywhere, inverted;
  configure(right, "[1, 1, 1, 0]");
  configure(everywhere, "[1, 1, 1, 1]");
  configure(inverted, "[0, 0, 0, 1]");
  const auto model = right.load(), all = everywhere.load(), wrong = inverted.load();
  // One token cannot tell: it only sees itself, and rotations are relative.
  CHECK(logits(*model, {3}, {0}) == logits(*all, {3}, {0}));
  const auto two = logits(*model, {3, 5}, {0, 50});
  CHECK(two != logits(*all, {3, 5}, {0, 50}));
  CHECK(two != logits(*wrong, {3, 5}, {0, 50}));
  std::vector<int> rotations(4, 0);
  for (const Step& step : model->program().steps) {
    if (step.op == Op::rope) ++rotations[static_cast<std::size_t>(step.layer)];
  }
  CHECK(rotations == std::vector<int>{2, 2, 2, 0});
}

TEST_CASE("rms_norm works in f32 throughout; epsilon stands inside of the root") {
  // transformers in bf16 rounds x / rms to bf16 before it multiplies by the bf16 weight. Here
  // values stay f32 whatever the type of the weights: (x * 1/rms) * weight, where a bf16 weight
  // counts with its exact value. That is the order of the f32 model, and differs from a bf16 run by
  // its roundings only.
  const float x[] = {bf16(200.0f), bf16(0.01f), bf16(-3.0f), bf16(5.0f)};
  const float weight[] = {bf16(0.7f), bf16(1.3f), bf16(-0.2f), bf16(2.1f)};
  float got[4];
  rms_norm(x, weight, 1e-6f, got, 4);
  double squares = 0;
  for (const float value : x) squares += static_cast<double>(value) * static_cast<double>(value);
  const double scale = 1 / std::sqrt(squares / 4 + 1e-6);
  for (int i = 0; i < 4; ++i) {
    const double exact = x[i] * scale * static_cast<double>(weight[i]);
    CHECK(static_cast<double>(got[i]) == doctest::Approx(exact).epsilon(3e-7));
    const float half_run = bf16(bf16(static_cast<float>(x[i] * scale)) * weight[i]);
    CHECK(std::fabs(got[i] - half_run) <= std::fabs(half_run) / 128);
  }
  // Outside of the root epsilon would make these 1e6 times smaller.
  const float tiny[] = {1e-6f, 1e-6f, 1e-6f, 1e-6f}, ones[] = {1, 1, 1, 1};
  rms_norm(tiny, ones, 1e-12f, got, 4);
  CHECK(got[0] == doctest::Approx(std::sqrt(0.5)));
}

TEST_CASE("masked scores take no part, however low the others are") {
  const float masked = -std::numeric_limits<float>::infinity();
  float all[] = {masked, masked, masked, masked};
  softmax(all, 4);
  for (const float p : all) CHECK(p == 0.0f);
  float low[] = {-6e4f, masked};
  softmax(low, 2);
  CHECK(low[0] == 1.0f);
  CHECK(low[1] == 0.0f);
  float lowest[] = {std::numeric_limits<float>::lowest(), masked};
  softmax(lowest, 2);
  CHECK(lowest[0] == 1.0f);
}

TEST_CASE("bf16 weights beyond the range of f16 count with their exact value") {
  ModelFolder folder;
  std::vector<float> values = folder.tensors[1].second.to_floats();
  values[2] = 70000.0f;
  ModelFolder wide;
  for (std::size_t i = 0; i < folder.tensors.size(); ++i) {
    const Tensor& source = folder.tensors[i].second;
    const auto numbers = i == 1 ? values : source.to_floats();
    const Tensor narrow = Tensor::zeros(DType::bf16, source.shape());
    encode(DType::bf16, numbers.data(), const_cast<std::byte*>(narrow.bytes().data()),
           narrow.elements());
    folder.tensors[i].second = narrow;
    wide.tensors[i].second = Tensor::from_values(source.shape(), narrow.to_floats());
  }
  const auto got = logits(*folder.load(), {3, 5}, {0, 1});
  CHECK(got == logits(*wide.load(), {3, 5}, {0, 1}));
  CHECK(std::all_of(got.begin(), got.end(), [](float x) { return std::isfinite(x); }));
}
