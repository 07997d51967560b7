#include "base/telemetry.h"

#include <doctest/doctest.h>

#include <stdexcept>

#include "base/error.h"
#include "base/log.h"
#include "base/memory_account.h"

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

TEST_CASE("buffers are charged to their account while they live") {
  MemoryAccount account("test");
  {
    Buffer a(1000, account);
    Buffer b = std::move(a);
    CHECK(account.active() == 1000);
    CHECK(reinterpret_cast<std::uintptr_t>(b.data()) % 64 == 0);
  }
  CHECK(account.active() == 0);
  CHECK(account.peak() == 1000);
  account.reset_peak();
  CHECK(account.peak() == 0);
  CHECK_THROWS_AS(Buffer(std::uint64_t{1} << 60, account), Error);
  CHECK(account.active() == 0);
}

TEST_CASE("control characters cannot forge a log line") {
  CHECK(escape_control("a\nerror: \x1b[31mb\t\r") == "a\\nerror: \\x1b[31mb\\t\\x0d");
}
