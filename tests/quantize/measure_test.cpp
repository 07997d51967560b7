#include "quantize/measure.h"

#include <doctest/doctest.h>

#include <cmath>

#include "base/error.h"
#include "engine/lanes.h"
#include "engine/tiny_model.h"
#include "quantize/texts.h"

using namespace linnet;

namespace {

std::vector<std::int32_t> some_ids(std::size_t count) {
  EncodeOptions encode;
  encode.parsing = SpecialParsing::all;
  auto ids = tiny_tokenizer()->encode(evaluation_text(), encode);
  ids.resize(count);
  return ids;
}

std::shared_ptr<const Model> tiny_in(const std::string& weights) {
  LoadOptions options;
  options.threads = 2;
  LaneChoice choice;
  choice.lane = "native";
  choice.weights = weights;
  choose_lane(choice, options);
  return Model::load(open_model_files(tiny_folder()), options);
}

// Logits of every row of one window, all at once.
std::vector<float> logits_of(const Model& model, std::span<const std::int32_t> ids) {
  KvCache cache = model.make_cache();
  std::vector<std::int32_t> positions;
  for (std::size_t i = 0; i < ids.size(); ++i) positions.push_back(static_cast<std::int32_t>(i));
  const SequenceRows sequence{&cache, static_cast<std::int64_t>(ids.size())};
  Batch batch;
  batch.tokens = ids;
  batch.positions = positions;
  batch.sequences = {&sequence, 1};
  batch.selected = positions;
  return model.run(batch);
}

std::vector<double> distribution(const float* logits, std::size_t vocab) {
  std::vector<double> p(vocab);
  double sum = 0;
  for (std::size_t i = 0; i < vocab; ++i) sum += p[i] = std::exp(static_cast<double>(logits[i]));
  for (double& value : p) value /= sum;
  return p;
}

}  // namespace

TEST_CASE("perplexity and divergence are those of the plain formulas") {
  const auto model = tiny_in("i8");
  const auto reference = tiny_model();
  const auto ids = some_ids(70);
  MeasureOptions options;
  options.window = 40;  // a whole window and a shorter one
  const Measurement result = measure(*model, reference.get(), ids, options);

  double loss = 0, reference_loss = 0, kl = 0;
  int predictions = 0, agreements = 0;
  const auto vocab = static_cast<std::size_t>(model->program().vocab);
  for (const std::size_t first : {std::size_t{0}, std::size_t{40}}) {
    const auto window = std::span(ids).subspan(first, first == 0 ? 40 : 30);
    const auto ours = logits_of(*model, window), theirs = logits_of(*reference, window);
    for (std::size_t row = 0; row < window.size(); ++row) {
      const auto q = distribution(&ours[row * vocab], vocab);
      const auto p = distribution(&theirs[row * vocab], vocab);
      for (std::size_t i = 0; i < vocab; ++i) kl += p[i] * (std::log(p[i]) - std::log(q[i]));
      agreements += std::max_element(p.begin(), p.end()) - p.begin() ==
                    std::max_element(q.begin(), q.end()) - q.begin();
      if (row + 1 == window.size()) continue;
      const auto next = static_cast<std::size_t>(window[row + 1]);
      loss -= std::log(q[next]);
      reference_loss -= std::log(p[next]);
      ++predictions;
    }
  }
  CHECK(result.predictions == predictions);
  CHECK(result.loss.value == doctest::Approx(loss / predictions).epsilon(1e-5));
  REQUIRE(result.divergence);
  CHECK(result.divergence->reference_loss.value ==
        doctest::Approx(reference_loss / predictions).epsilon(1e-5));
  CHECK(result.divergence->kl.value == doctest::Approx(kl / 70).epsilon(1e-3));
  CHECK(result.divergence->kl.value > 1e-5);
  CHECK(result.divergence->kl.error > 0);
  CHECK(result.divergence->kl_p99 > result.divergence->kl.value);
  CHECK(result.divergence->top1_agreement == doctest::Approx(agreements / 70.0));
}

TEST_CASE("a model does not diverge from itself, and few rows at once change nothing") {
  const auto reference = tiny_model();
  const auto ids = some_ids(100);
  MeasureOptions options;
  options.layers = true;
  const Measurement same = measure(*reference, reference.get(), ids, options);
  REQUIRE(same.divergence);
  CHECK(same.divergence->kl.value == 0);
  CHECK(same.divergence->top1_agreement == 1);
  REQUIRE(same.divergence->layer_errors.size() ==
          static_cast<std::size_t>(reference->program().layers) + 1);
  for (const double error : same.divergence->layer_errors) CHECK(error == 0);
}

TEST_CASE("layer errors of the native lane grow from rounding, f32 has none worth naming") {
  const auto reference = tiny_model();
  const auto ids = some_ids(60);
  MeasureOptions options;
  options.layers = true;
  const auto exact = measure(*tiny_in("f32"), reference.get(), ids, options);
  const auto rounded = measure(*tiny_in("n4"), reference.get(), ids, options);
  REQUIRE(exact.divergence->layer_errors.size() == rounded.divergence->layer_errors.size());
  for (const double error : exact.divergence->layer_errors) CHECK(error < 1e-5);
  CHECK(rounded.divergence->layer_errors.front() < 0.05);  // the embedding has 6 or 8 bits
  CHECK(rounded.divergence->layer_errors.back() > 0.01);
  CHECK(rounded.divergence->layer_errors.back() < 0.6);
}

TEST_CASE("what cannot be measured is refused") {
  const auto model = tiny_model();
  const auto ids = some_ids(10);
  MeasureOptions options;
  CHECK_THROWS_WITH_AS(measure(*model, nullptr, std::span(ids).first(1), options),
                       doctest::Contains("1 tokens; two at least"), Error);
  options.window = 5000;
  CHECK_THROWS_WITH_AS(measure(*model, nullptr, ids, options),
                       doctest::Contains("2 to the model's context of 4096"), Error);
  options.window = 8;
  const std::vector<std::int32_t> strange = {1, 999999};
  CHECK_THROWS_AS(measure(*model, nullptr, strange, options), Error);
  const std::atomic<bool> cancel{true};
  options.cancel = &cancel;
  CHECK_THROWS_WITH_AS(measure(*model, nullptr, ids, options), doctest::Contains("cancelled"),
                       Error);
}

TEST_CASE("the two texts have no line of content in common") {
  const auto lines = [](std::string_view text) {
    std::vector<std::string> out;
    std::string line;
    for (const char c : text) {
      if (c != '\n') {
        line += c;
        continue;
      }
      if (line.size() > 60 && !line.starts_with("Classify the ticket")) out.push_back(line);
      line.clear();
    }
    return out;
  };
  const auto calibration = lines(calibration_text()), evaluation = lines(evaluation_text());
  CHECK(calibration.size() > 50);
  CHECK(evaluation.size() > 40);
  for (const std::string& line : evaluation) {
    const bool shared =
        std::find(calibration.begin(), calibration.end(), line) != calibration.end();
    CHECK_MESSAGE(!shared, line);
  }
}
