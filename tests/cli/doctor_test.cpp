#include <doctest/doctest.h>

#include <stdexcept>

#include "cli/doctor_checks.h"
#include "cli/self_test.h"

using namespace linnet;

TEST_CASE("checks are skipped when what they need failed") {
  const auto results = run_in_order({
      {"a", "",
       [] {
         return CheckResult{"", CheckStatus::warn, ""};
       }},
      {"b", "a", []() -> CheckResult { throw std::runtime_error("broken"); }},
      {"c", "b", [] { return CheckResult{}; }},
      {"d", "c", [] { return CheckResult{}; }},
      {"e", "a", [] { return CheckResult{}; }},
  });
  REQUIRE(results.size() == 5);
  CHECK(results[0].status == CheckStatus::warn);
  CHECK(results[1].status == CheckStatus::error);
  CHECK(results[1].detail == "broken");
  CHECK(results[2].status == CheckStatus::skip);
  CHECK(results[3].status == CheckStatus::skip);
  CHECK(results[4].status == CheckStatus::ok);
  CHECK(results[4].name == "e");
}

TEST_CASE("the self-test computes through a real program") {
  const SelfTestResult result = run_self_test();
  CHECK_MESSAGE(result.passed, result.detail);
}
