// What happens when the native lane cannot run a program.
#include "engine/lanes.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "base/telemetry.h"
#include "engine/tiny_model.h"
#include "program/random_program.h"

using namespace linnet;
using namespace linnet::testing;

namespace {

// Its second layer rotates queries and not keys, which the native lane does not do.
std::shared_ptr<const Program> program_without_native_form() {
  Program program = *RandomProgram(true, true).program();
  for (Step& step : program.steps) {
    if (step.op != Op::attention || step.layer != 1) continue;
    const ValueId rotated = step.inputs[1];
    const auto rope = std::find_if(program.steps.begin(), program.steps.end(),
                                   [&](const Step& each) { return each.output == rotated; });
    step.inputs[1] = rope->inputs[0];
  }
  return std::make_shared<const Program>(std::move(program));
}

std::unique_ptr<Lane> make_lane(const LaneChoice& choice) {
  LoadOptions options;
  choose_lane(choice, options);
  return options.make_lane(program_without_native_form(), RandomProgram(true, true).weights(),
                           std::make_shared<ThreadPool>(1));
}

}  // namespace

TEST_CASE("a program without a native form: the reference lane and an event, or an error") {
  set_log_level(LogLevel::off);
  std::vector<std::string> events;
  const auto subscription = Telemetry::instance().subscribe([&](const TelemetryEvent& event) {
    events.push_back(std::string(event.name) + event.measurements.dump() + event.metadata.dump());
  });
  LaneChoice choice;
  CHECK(make_lane(choice)->name() == "reference");
  REQUIRE(events.size() == 1);
  CHECK(events[0] == R"(compiler.fallback{"count":1}{"key":"attention","reason":"step 22 )"
                     R"((attention): query and key are rotated differently"})");
  choice.native_fallback = "raise";
  CHECK_THROWS_WITH_AS(make_lane(choice), doctest::Contains("step 22 (attention): query and key"),
                       Error);
  choice = {};
  choice.lane = "native";
  CHECK_THROWS_WITH_AS(make_lane(choice), doctest::Contains("step 22 (attention): query and key"),
                       Error);
  CHECK(events.size() == 1);
  set_log_level(LogLevel::warn);
}

TEST_CASE("names of fallbacks are checked") {
  LaneChoice choice;
  choice.native_fallback = "maybe";
  LoadOptions options;
  CHECK_THROWS_WITH_AS(choose_lane(choice, options), doctest::Contains("reference, raise"), Error);
  choice = {};
  choice.request_fallback = "never";
  CHECK_THROWS_WITH_AS(choose_lane(choice, options), doctest::Contains("raise, silent, warn"),
                       Error);
}

TEST_CASE("requests of the reference lane: an error, or passed on where the choice allows it") {
  const std::vector<std::int32_t> tokens = {1, 2, 3}, positions = {0, 1, 2};
  LaneChoice choice;
  for (const char* policy : {"raise", "silent"}) {
    choice.request_fallback = policy;
    LoadOptions options;
    options.threads = 1;
    choose_lane(choice, options);
    const auto model = Model::load(open_model_files(tiny_folder()), options);
    KvCache cache = model->make_cache();
    const SequenceRows rows[] = {{&cache, 3}};
    const std::vector<float> mask(
        static_cast<std::size_t>(model->program().layers * model->program().heads), 0.5f);
    Batch batch;
    batch.tokens = tokens, batch.positions = positions, batch.sequences = rows;
    batch.head_mask = mask;
    CHECK(model->lane().name() == "native");
    if (choice.request_fallback == "raise") {
      CHECK_THROWS_WITH_AS(model->run(batch), doctest::Contains("head_mask: only the reference"),
                           Error);
    } else {
      CHECK_NOTHROW(model->run(batch));
      CHECK(cache.length() == 3);
    }
  }
}

TEST_CASE("a norm that no linear reads is told as a block without its fused form") {
  std::vector<std::string> events;
  const auto subscription = Telemetry::instance().subscribe([&](const TelemetryEvent& event) {
    events.push_back(std::string(event.name) + event.measurements.dump() + event.metadata.dump());
  });
  LoadOptions options;
  options.threads = 1;
  options.task_head = TaskHead::none;
  choose_lane({}, options);
  Model::load(open_model_files(tiny_folder()), options);
  CHECK(std::count(events.begin(), events.end(),
                   R"(block.fallback{}{"struct":"rms_norm","args_count":1})") == 1);
  CHECK(events.back().starts_with("memory.stats"));
}
