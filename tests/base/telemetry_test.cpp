#include "base/telemetry.h"

#include <doctest/doctest.h>

#include <stdexcept>

#include "base/error.h"
#include "base/log.h"

using namespace linnet;

TEST_CASE("subscribers see events until they are gone") {
  Telemetry& bus = Telemetry::instance();
  std::vector<std::string> seen;
  CHECK(!bus.active());
  {
    const auto subscription = bus.subscribe([&](const TelemetryEvent& event) {
      seen.push_back(std::string(event.name) + event.measurements.dump() + event.metadata.dump());
    });
    CHECK(bus.active());
    bus.emit("a.b", Json::object().set("count", 1), Json::object().set("reason", "r"));
  }
  bus.emit("late", Json::object());
  REQUIRE(seen.size() == 1);
  CHECK(seen[0] == R"(a.b{"count":1}{"reason":"r"})");
}

TEST_CASE("a span ends in stop, or in exception when it was left by one") {
  std::vector<std::string> names;
  const auto subscription = Telemetry::instance().subscribe([&](const TelemetryEvent& event) {
    names.emplace_back(event.name);
    if (!event.name.ends_with(".start")) CHECK(event.measurements.at("duration").as_double() >= 0);
  });
  { const TelemetrySpan span("eval"); }
  try {
    const TelemetrySpan span("eval");
    throw std::runtime_error("x");
  } catch (const std::runtime_error&) {
  }
  CHECK(names ==
        std::vector<std::string>{"eval.start", "eval.stop", "eval.start", "eval.exception"});
}

TEST_CASE("an outer span hides those within it, on its thread") {
  std::vector<std::string> names;
  const auto subscription = Telemetry::instance().subscribe(
      [&](const TelemetryEvent& event) { names.emplace_back(event.name); });
  for (int i = 0; i < 2; ++i) {
    const OuterSpan outer("async_eval");
    const OuterSpan inner("eval");
  }
  CHECK(names == std::vector<std::string>{"async_eval.start", "async_eval.stop", "async_eval.start",
                                          "async_eval.stop"});
}

TEST_CASE("control characters cannot forge a log line") {
  CHECK(escape_control("a\nerror: \x1b[31mb\t\r") == "a\\nerror: \\x1b[31mb\\t\\x0d");
}
