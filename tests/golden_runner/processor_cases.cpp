#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "engine/logits.h"
#include "golden_runner/compare.h"
#include "golden_runner/sampling_suite.h"

namespace golden {
namespace {

using linnet::Json;
using linnet::TokenId;
using Row = std::span<float>;

std::vector<TokenId> distinct(std::span<const std::int64_t> history) {
  std::vector<TokenId> ids(history.begin(), history.end());
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

// Applies one processor to a row; false when it is not ours.
bool apply(const std::string& op, const Json& params, Row row,
           std::span<const std::int64_t> history) {
  const auto number = [&](std::string_view name) {
    return static_cast<float>(params.at(name).as_double(name));
  };
  if (op == "temperature") {
    linnet::divide_by_temperature(row, number("temperature"));
  } else if (op == "top_k") {
    linnet::keep_top_k(row, params.at("top_k").as_int("top_k"));
  } else if (op == "top_p") {
    linnet::keep_top_p(row, number("top_p"));
  } else if (op == "min_p") {
    linnet::keep_min_p(row, number("min_p"));
  } else if (op == "repetition_penalty") {
    linnet::penalize_repetition(row, distinct(history), number("repetition_penalty"));
  } else if (op == "log_softmax") {
    const auto logs = linnet::log_probabilities(row);
    std::copy(logs.begin(), logs.end(), row.begin());
  } else if (op == "chain") {
    for (const Json& part : params.at("order").as_array("order")) {
      if (!apply(part.as_string(), params, row, history)) return false;
    }
  } else {
    return false;
  }
  return true;
}

// Unchanged and removed scores must be equal in every bit; the changed ones nearly.
std::optional<std::string> fault_of(std::span<const float> scores, std::span<const float> got,
                                    std::span<const float> expected, Tolerance tolerance) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const bool exact = std::isinf(expected[i]) || expected[i] == scores[i];
    if (exact && got[i] != expected[i]) {
      return fmt::format("score {}: got {}, expected {} exactly", i, got[i], expected[i]);
    }
  }
  return difference(got, expected, tolerance);
}

}  // namespace

bool run_processor_case(const CaseContext& context) {
  const std::string& kind = context.kind();
  if (kind != "processor" && kind != "processor-count") return false;
  const auto array = [&](std::string_view part, std::string_view field) {
    return find_array(context.test_case, part, field, context.arrays);
  };
  const linnet::Tensor input = array("inputs", "scores").value();
  const auto scores = input.to_floats();
  std::vector<std::int64_t> history;
  if (const auto ids = array("inputs", "input_ids")) history = ids->to_ints();
  const auto rows = static_cast<std::size_t>(input.dim(0));
  const std::size_t vocab = scores.size() / rows, seen = history.size() / rows;

  const std::string& op = context.test_case.at("op").as_string("op");
  std::vector<float> got = scores;
  for (std::size_t row = 0; row < rows; ++row) {
    const auto ids = std::span<const std::int64_t>(history).subspan(row * seen, seen);
    if (!apply(op, context.test_case.at("params"), Row(got).subspan(row * vocab, vocab), ids)) {
      context.report.skip(context.name(), "processor " + op + " is not built yet");
      return true;
    }
  }
  std::optional<std::string> fault;
  if (kind == "processor") {
    fault = fault_of(scores, got, array("expected", "scores_out").value().to_floats(),
                     Tolerance::of(context.head, context.test_case));
  } else {
    const auto kept = std::count_if(got.begin(), got.end(),
                                    [](float score) { return score != linnet::kRemoved; });
    const std::int64_t wanted = array("expected", "kept").value().to_ints().at(0);
    if (kept != wanted) fault = fmt::format("{} scores stay instead of {}", kept, wanted);
  }
  fault ? context.report.fail(context.name(), *fault) : context.report.pass(context.name());
  return true;
}

}  // namespace golden
