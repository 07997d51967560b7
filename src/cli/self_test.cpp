#include "cli/self_test.h"

#include <fmt/core.h>

#include <array>

#include "base/telemetry.h"
#include "program/reference_lane.h"

namespace linnet {
namespace {

Step make_step(Op op, std::vector<ValueId> inputs, ValueId output, WeightId weight = kNone) {
  Step step;
  step.op = op;
  step.inputs = std::move(inputs);
  step.output = output;
  step.weights = {weight, kNone};
  return step;
}

// numbers = [1, 2], ones = [1, 1]; out = [1, 1] . (numbers + ones)
Program make_program() {
  Program program;
  program.vocab = 1;
  program.hidden = 2;
  const WeightId numbers_table = program.add_weight("numbers", {1, 2});
  const WeightId ones_table = program.add_weight("ones", {1, 2});
  const WeightId sum_matrix = program.add_weight("sum", {1, 2});
  const ValueId numbers = program.add_value("numbers", 2);
  const ValueId ones = program.add_value("ones", 2);
  const ValueId raised = program.add_value("raised", 2);
  const ValueId chosen = program.add_value("chosen", 2, RowCount::selected);
  program.output = program.add_value("total", 1, RowCount::selected);
  program.steps = {
      make_step(Op::embed, {}, numbers, numbers_table),
      make_step(Op::embed, {}, ones, ones_table),
      make_step(Op::add, {numbers, ones}, raised),
      make_step(Op::select_rows, {raised}, chosen),
      make_step(Op::linear, {chosen}, program.output, sum_matrix),
  };
  return program;
}

std::vector<float> run_program() {
  const auto program = std::make_shared<const Program>(make_program());
  check_program(*program);
  const std::array<float, 2> numbers = {1, 2};
  const std::array<float, 2> ones = {1, 1};
  const ReferenceLane lane(program,
                           {Tensor::from_values({1, 2}, numbers), Tensor::from_values({1, 2}, ones),
                            Tensor::from_values({1, 2}, ones)},
                           std::make_shared<ThreadPool>(1));
  KvCache cache = lane.make_cache();
  const std::array<std::int32_t, 1> zero = {0};
  const std::array<SequenceRows, 1> rows = {SequenceRows{&cache, 1}};
  Batch batch;
  batch.tokens = zero;
  batch.positions = zero;
  batch.sequences = rows;
  batch.selected = zero;
  return lane.run(batch);
}

}  // namespace

SelfTestResult run_self_test() {
  std::string fallback;
  const auto listening = Telemetry::instance().subscribe([&](const TelemetryEvent& event) {
    if (event.name == "compiler.fallback") fallback = event.metadata.dump();
  });
  try {
    const std::vector<float> result = run_program();
    if (!fallback.empty()) return {false, "a step fell back to another lane: " + fallback};
    if (result.size() == 1 && result[0] == 5.0f) return {true, "[1, 2] + 1 sums to 5"};
    return {false, fmt::format("[1, 2] + 1 sums to {}, expected 5",
                               result.empty() ? "nothing" : fmt::format("{}", result[0]))};
  } catch (const std::exception& error) {
    return {false, error.what()};
  }
}

}  // namespace linnet
