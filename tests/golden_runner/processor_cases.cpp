#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "engine/generation.h"
#include "engine/log_probabilities.h"
#include "engine/processors.h"
#include "golden_runner/compare.h"
#include "golden_runner/sampling_suite.h"

namespace golden {
namespace {

using linnet::GenerationConfig;
using linnet::Json;
using linnet::TokenId;
using Row = std::span<float>;

// The config with which a chain consists of the one processor `op`. Most params have the names of
// a generation config.
GenerationConfig config_of(const std::string& op, const Json& params) {
  Json named = params;
  const auto rename = [&](std::string_view from, std::string_view to) {
    if (const Json* value = params.find(from)) named.set(to, *value);
  };
  if (op == "dry") {
    for (const char* name : {"multiplier", "base", "allowed_length"}) {
      rename(name, fmt::format("dry_{}", name));
    }
    rename("sequence_breakers", "dry_sequence_breakers");
  } else if (op == "xtc") {
    rename("threshold", "xtc_threshold");
    named.set("xtc_probability", 1.0);
  } else if (op == "exponential_decay_length_penalty") {
    named.set(op, Json::Array{params.at("start"), params.at("factor")});
  }
  GenerationConfig config = GenerationConfig::from_json(named);
  config.sample = true;
  return config;
}

void apply(const std::string& op, const Json& params, Row row,
           std::span<const std::int64_t> history) {
  if (op == "log_softmax") {
    const auto logs = linnet::log_probabilities(row);
    std::copy(logs.begin(), logs.end(), row.begin());
  } else if (op == "chain") {
    for (const Json& part : params.at("order").as_array("order")) {
      Json one = Json::object();
      apply(part.as_string(), one.set(part.as_string(), params.at(part.as_string())), row, history);
    }
  } else {
    const std::vector<TokenId> ids(history.begin(), history.end());
    const Json* length = params.find("prompt_length");
    if (length == nullptr) length = params.find("begin_index");
    const std::int64_t prompt_length = length == nullptr ? 0 : length->as_int("prompt_length");
    linnet::ProcessorChain chain(config_of(op, params));
    chain.process(ids, static_cast<std::size_t>(prompt_length), row, 0);
  }
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
    apply(op, context.test_case.at("params"), Row(got).subspan(row * vocab, vocab), ids);
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
