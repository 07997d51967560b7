#include <doctest/doctest.h>

#include <cmath>

#include "base/error.h"
#include "engine/generation.h"

namespace linnet {
namespace {

GenerationConfig read(std::string_view text) {
  return GenerationConfig::from_json(Json::parse(text, "generation_config.json"));
}

TEST_CASE("fields of a generation config") {
  const auto config = read(
      R"({"bos_token_id": 1, "do_sample": true, "temperature": 0.6, "top_p": 0.95, "top_k": 20,
          "min_p": 0.1, "repetition_penalty": 1.1, "max_new_tokens": 9, "eos_token_id": [7, 9, 7],
          "stop_strings": ["\n\n"], "transformers_version": "4.54.0"})");
  CHECK(config.sample);
  CHECK(config.temperature == 0.6f);
  CHECK(config.top_p == 0.95f);
  CHECK(config.top_k == 20);
  CHECK(config.min_p == 0.1f);
  CHECK(config.repetition_penalty == 1.1f);
  CHECK(config.max_new_tokens == 9);
  CHECK(config.stop_ids == std::vector<TokenId>{7, 9});
  CHECK(config.stop_strings == std::vector<std::string>{"\n\n"});
}

TEST_CASE("absent and null fields leave the defaults: greedy, no top_k, no limit") {
  for (const char* text : {"null", "{}", R"({"do_sample": null, "top_k": null, "top_p": null,
                            "max_new_tokens": null, "eos_token_id": null})"}) {
    const auto config = read(text);
    CHECK_FALSE(config.sample);
    CHECK(config.temperature == 1.0f);
    CHECK(config.top_k == 0);
    CHECK_FALSE(config.top_p.has_value());
    CHECK(config.max_new_tokens == -1);
    CHECK(config.stop_ids.empty());
    CHECK_FALSE(config.seed.has_value());
  }
  CHECK(read(R"({"eos_token_id": 7})").stop_ids == std::vector<TokenId>{7});
}

TEST_CASE("values out of range name the field") {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"temperature": -0.1})", "temperature"},
      {R"({"temperature": 1e300})", "temperature"},
      {R"({"temperature": "hot"})", "temperature"},
      {R"({"top_k": -1})", "top_k"},
      {R"({"top_k": 2.5})", "top_k"},
      {R"({"top_p": 0})", "top_p"},
      {R"({"top_p": 1.01})", "top_p"},
      {R"({"min_p": -0.1})", "min_p"},
      {R"({"min_p": 2})", "min_p"},
      {R"({"repetition_penalty": 0})", "repetition_penalty"},
      {R"({"repetition_penalty": 1e-60})", "repetition_penalty"},
      {R"({"max_new_tokens": -5})", "max_new_tokens"},
      {R"({"eos_token_id": -1})", "eos_token_id"},
      {R"({"eos_token_id": [1, 4294967296]})", "eos_token_id"},
      {R"({"eos_token_id": true})", "eos_token_id"},
      {R"({"stop_strings": [""]})", "stop_strings"},
      {R"({"stop_strings": 5})", "stop_strings"},
      {R"({"do_sample": 1})", "do_sample"},
      {"[]", "generation config"},
  };
  for (const auto& wrong : cases) {
    CAPTURE(wrong.first);
    CHECK_THROWS_WITH_AS(read(wrong.first), doctest::Contains(wrong.second), Error);
  }
}

TEST_CASE("what no file can hold is refused too") {
  GenerationConfig config;
  config.temperature = NAN;
  CHECK_THROWS_WITH_AS(config.check(), doctest::Contains("temperature"), Error);
  config = {};
  config.top_p = NAN;
  CHECK_THROWS_WITH_AS(config.check(), doctest::Contains("top_p"), Error);
  config = {};
  config.stop_strings = {"\x80"};
  CHECK_THROWS_WITH_AS(config.check(), doctest::Contains("UTF-8"), Error);
}

TEST_CASE("rates") {
  GenerationResult result;
  CHECK(result.prefill_rate() == 0);
  CHECK(result.decode_rate() == 0);
  result.prompt_tokens = 30;
  result.cached_tokens = 10;
  result.prefill_seconds = 2;
  result.ids = {1, 2, 3};
  result.decode_seconds = 0.5;
  CHECK(result.prefill_rate() == 10);
  CHECK(result.decode_rate() == 4);
  CHECK(finish_reason_name(FinishReason::cancelled) == "cancelled");
}

}  // namespace
}  // namespace linnet
