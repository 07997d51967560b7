#include "model/losses.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "base/error.h"
#include "base/random.h"

using namespace linnet;

namespace {

using Targets = std::vector<std::int64_t>;

std::vector<float> random_numbers(std::size_t count, std::uint64_t seed, float scale = 4.0f) {
  RandomStream stream(seed);
  std::vector<float> numbers(count);
  for (float& number : numbers) number = scale * (stream.next_uniform() - 0.5f);
  return numbers;
}

// Central differences of the loss at every logit.
void check_gradient(std::vector<float> logits, const std::vector<float>& gradient,
                    const std::function<double(const std::vector<float>&)>& loss) {
  REQUIRE(gradient.size() == logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const float kept = logits[i], step = 1.0f / 256;
    logits[i] = kept + step;
    const double above = loss(logits);
    logits[i] = kept - step;
    const double slope = (above - loss(logits)) / (2 * static_cast<double>(step));
    logits[i] = kept;
    CHECK(static_cast<double>(gradient[i]) == doctest::Approx(slope).epsilon(1e-4));
  }
}

}  // namespace

TEST_CASE("gradients are those of the losses") {
  const auto logits = random_numbers(12, 1), other = random_numbers(12, 2);
  const Targets classes = {2, kIgnoredTarget, 0};
  check_gradient(logits, cross_entropy(logits, 4, classes).gradient,
                 [&](const auto& x) { return cross_entropy(x, 4, classes).value; });
  check_gradient(logits, cross_entropy(logits, 4, classes, 7).gradient,
                 [&](const auto& x) { return cross_entropy(x, 4, classes, 7).value; });
  check_gradient(logits, squared_error(logits, other).gradient,
                 [&](const auto& x) { return squared_error(x, other).value; });
  const auto probabilities = std::vector<float>{0, 1, 0.25f, 1, 0, 0, 1, 1, 0, 0.5f, 1, 0};
  check_gradient(logits, binary_cross_entropy(logits, probabilities).gradient,
                 [&](const auto& x) { return binary_cross_entropy(x, probabilities).value; });
  const Targets starts = {1, 9, 0}, ends = {3, 2, 4};
  const auto span = [&](const auto& x, const auto& y) {
    return span_cross_entropy(x, y, 4, starts, ends);
  };
  check_gradient(logits, span(logits, other).start.gradient,
                 [&](const auto& x) { return span(x, other).value(); });
  check_gradient(other, span(logits, other).end.gradient,
                 [&](const auto& y) { return span(logits, y).value(); });
}

TEST_CASE("values by hand") {
  const std::vector<float> even(4, 0.0f);
  CHECK(cross_entropy(even, 4, Targets{3}).value == doctest::Approx(std::log(4.0)));
  CHECK(squared_error(std::vector<float>{1, 5}, std::vector<float>{0, 2}).value == 5);
  CHECK(binary_cross_entropy(std::vector<float>{0}, std::vector<float>{1}).value ==
        doctest::Approx(std::log(2.0)));
  // Ignored positions leave the other half.
  const SpanLoss span = span_cross_entropy(even, even, 4, Targets{4}, Targets{0});
  CHECK(span.value() == doctest::Approx(std::log(4.0) / 2));
  CHECK(span.start.count == 0);
}

TEST_CASE("logits far apart neither overflow nor give NaN") {
  const std::vector<float> far = {1e30f, -1e30f};
  CHECK(cross_entropy(far, 2, Targets{0}).value == 0);
  CHECK(std::isfinite(cross_entropy(far, 2, Targets{1}).value));
  for (const float slope : binary_cross_entropy(far, std::vector<float>{1, 0}).gradient)
    CHECK(slope == 0);
}

TEST_CASE("nothing to learn is no loss, and says so") {
  const std::vector<float> logits(6, 1.0f);
  const Loss loss = cross_entropy(logits, 3, Targets(2, kIgnoredTarget));
  CHECK(loss.value == 0);
  CHECK(loss.count == 0);
  CHECK(loss.gradient == std::vector<float>(6, 0.0f));
  CHECK(squared_error({}, {}).value == 0);
  CHECK(cross_entropy({}, 3, {}).count == 0);
}

TEST_CASE("batches divided by the targets of the whole step add up to one large batch") {
  const auto logits = random_numbers(10 * 5, 3);
  const Targets targets = {0, 1, 2, 3, 4, 0, 1, 2, 3, 4};
  const Loss whole = cross_entropy(logits, 5, targets);
  const auto all = std::span(logits);
  const Loss small = cross_entropy(all.first(5), 5, std::span(targets).first(1), 10);
  const Loss large = cross_entropy(all.subspan(5), 5, std::span(targets).subspan(1), 10);
  CHECK(small.value + large.value == doctest::Approx(whole.value).epsilon(1e-12));
  auto joined = small.gradient;
  joined.insert(joined.end(), large.gradient.begin(), large.gradient.end());
  CHECK(joined == whole.gradient);
}

TEST_CASE("each sequence predicts its own next token, never the next sequence's first") {
  const Targets labels = {5, 6, 7, 8, 9}, lengths = {3, 0, 2};
  const auto ignored = kIgnoredTarget;
  CHECK(next_token_targets(labels, lengths) == Targets{6, 7, ignored, 9, ignored});
  CHECK_THROWS_AS(next_token_targets(labels, Targets{3}), Error);
  CHECK_THROWS_AS(next_token_targets(labels, Targets{6}), Error);
  CHECK_THROWS_AS(next_token_targets(labels, Targets{-1, 6}), Error);
}

TEST_CASE("targets that do not fit are refused") {
  const std::vector<float> logits(6, 1.0f);
  CHECK_THROWS_WITH_AS(cross_entropy(logits, 3, Targets{0, 3}),
                       doctest::Contains("target 3 of row 1"), Error);
  CHECK_THROWS_AS(cross_entropy(logits, 3, Targets{-1, 0}), Error);
  CHECK_THROWS_AS(cross_entropy(logits, 3, Targets{0}), Error);
  CHECK_THROWS_AS(cross_entropy(logits, 0, Targets{}), Error);
  CHECK_THROWS_AS(squared_error(logits, std::vector<float>(5)), Error);
  CHECK_THROWS_AS(span_cross_entropy(logits, logits, 3, Targets{-1, 0}, Targets{0, 0}), Error);
}
