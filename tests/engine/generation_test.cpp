#include <doctest/doctest.h>

#include <cmath>
#include <tuple>

#include "base/error.h"
#include "engine/generation.h"
#include "engine/generation_result.h"

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

TEST_CASE("fields of processors, by their names in transformers, OpenAI's API and llama.cpp") {
  auto config = read(
      R"({"max_tokens": 9, "min_tokens": 2, "repeat_penalty": 1.5, "presence_penalty": -0.5,
          "frequency_penalty": 0.25, "typ_p": 0.5, "top_n_sigma": -1, "stop": "END", "seed": 7,
          "logit_bias": {"12": -1.5, "7": false}, "sequence_bias": [[[3, 4], 2]],
          "bad_words_ids": [[5], [6, 7]], "suppress_tokens": [1, 2], "begin_suppress_tokens": [3],
          "forced_bos_token_id": 4, "forced_eos_token_id": [5, 6], "forced_decoder_ids": [[1, 50]],
          "exponential_decay_length_penalty": [10, 1.01], "no_repeat_ngram_size": 3,
          "epsilon_cutoff": 0.001, "eta_cutoff": 0.002})");
  CHECK(config.max_new_tokens == 9);
  CHECK(config.min_new_tokens == 2);
  CHECK(config.repetition_penalty == 1.5f);
  CHECK(config.presence_penalty == -0.5f);
  CHECK(config.frequency_penalty == 0.25f);
  CHECK(config.typical_p == 0.5f);
  CHECK(config.top_n_sigma == -1.0f);
  CHECK(config.stop_strings == std::vector<std::string>{"END"});
  CHECK(config.seed == 7);
  const std::vector<SequenceBias> biases = {
      {{12}, -1.5f}, {{7}, -INFINITY}, {{3, 4}, 2}, {{5}, -INFINITY}, {{6, 7}, -INFINITY}};
  CHECK(config.sequence_bias == biases);
  CHECK(config.suppress_tokens == std::vector<TokenId>{1, 2});
  CHECK(config.begin_suppress_tokens == std::vector<TokenId>{3});
  CHECK(config.forced_bos == 4);
  CHECK(config.forced_eos == std::vector<TokenId>{5, 6});
  CHECK(config.forced_tokens == std::vector<ForcedToken>{{1, 50}});
  CHECK(config.length_decay == LengthDecay{10, 1.01f});
  CHECK(config.no_repeat_ngram_size == 3);
  CHECK(config.epsilon_cutoff == 0.001f);
  CHECK(config.eta_cutoff == 0.002f);

  config = read(
      R"({"mirostat": 2, "mirostat_tau": 4, "mirostat_eta": 0.2, "logit_bias": [[5, 1.5]],
          "dry_multiplier": 0.8, "dry_base": 2, "dry_allowed_length": 3, "dry_penalty_last_n": 64,
          "dry_sequence_breakers": [":", 9], "seed": "18446744073709551615"})");
  CHECK(config.mirostat == 2);
  CHECK(config.mirostat_tau == 4.0f);
  CHECK(config.mirostat_eta == 0.2f);
  CHECK(config.sequence_bias == std::vector<SequenceBias>{{{5}, 1.5f}});
  CHECK(config.dry_multiplier == 0.8f);
  CHECK(config.dry_base == 2.0f);
  CHECK(config.dry_allowed_length == 3);
  CHECK(config.dry_range == 64);
  CHECK(config.dry_breaker_texts == std::vector<std::string>{":"});
  CHECK(config.dry_breaker_ids == std::vector<TokenId>{9});
  CHECK(config.seed == UINT64_MAX);
  CHECK(read(R"({"seed": 18446744073709551615})").seed == UINT64_MAX);
  config = read(R"({"dynatemp_range": 0.5, "dynatemp_exponent": 2, "xtc_probability": 0.5,
                    "xtc_threshold": 0.2, "max_length": 90, "min_length": 4})");
  CHECK(config.dynatemp_range == 0.5f);
  CHECK(config.dynatemp_exponent == 2.0f);
  CHECK(config.xtc_probability == 0.5f);
  CHECK(config.xtc_threshold == 0.2f);
  CHECK(config.max_length == 90);
  CHECK(config.min_length == 4);
}

TEST_CASE("fields that contradict each other are both named") {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {R"({"max_new_tokens": 3, "max_length": 9})", "max_new_tokens", "max_length"},
      {R"({"min_new_tokens": 3, "min_length": 9})", "min_new_tokens", "min_length"},
      {R"({"min_new_tokens": 4, "max_new_tokens": 3})", "min_new_tokens", "max_new_tokens"},
      {R"({"min_length": 4, "max_length": 3})", "min_length", "max_length"},
      {R"({"mirostat": 1, "top_k": 5})", "mirostat", "top_k"},
      {R"({"mirostat": 2, "top_p": 0.5})", "mirostat", "top_p"},
      {R"({"mirostat": 2, "min_p": 0.5})", "mirostat", "min_p"},
      {R"({"mirostat": 2, "typical_p": 0.5})", "mirostat", "typical_p"},
      {R"({"mirostat": 2, "top_n_sigma": 1})", "mirostat", "top_n_sigma"},
      {R"({"mirostat": 2, "epsilon_cutoff": 0.1})", "mirostat", "epsilon_cutoff"},
      {R"({"mirostat": 2, "eta_cutoff": 0.1})", "mirostat", "eta_cutoff"},
      {R"({"mirostat": 2, "xtc_probability": 0.1})", "mirostat", "xtc_probability"},
      {R"({"mirostat": 2, "dynatemp_range": 0.1})", "mirostat", "dynatemp_range"},
      {R"({"forced_token_ids": [[2, 7], [2, 8]]})", "7", "8"},
  };
  for (const auto& wrong : cases) {
    CAPTURE(std::get<0>(wrong));
    const auto [text, first, second] = wrong;
    CHECK_THROWS_WITH_AS(read(text), doctest::Contains(first), Error);
    CHECK_THROWS_WITH_AS(read(text), doctest::Contains(second), Error);
  }
  const char* fine =
      R"({"min_new_tokens": 3, "max_length": 9, "forced_token_ids": [[1, 2], [1, 2]],
          "mirostat": 2, "top_k": 0, "top_p": 1, "top_n_sigma": 0})";
  CHECK_NOTHROW(read(fine));
}

TEST_CASE("how many ids an answer may have") {
  GenerationConfig config;
  CHECK_FALSE(config.new_token_limit(5).has_value());
  config.max_length = 15;
  CHECK(config.new_token_limit(5) == 10);
  CHECK(config.new_token_limit(14) == 1);
  CHECK_THROWS_WITH_AS(config.new_token_limit(15), doctest::Contains("15"), Error);
  config.max_length = -1;
  config.max_new_tokens = 3;
  CHECK(config.new_token_limit(15) == 3);
}

TEST_CASE("texts of breakers become the tokens that hold them, where DRY is on") {
  TokenizerData data;
  data.vocab = {"a", "b;", ";", "c", "d;e"};
  const Tokenizer tokenizer(data);
  GenerationConfig config;
  config.dry_breaker_texts = {";", "nowhere"};
  config.resolve_texts(tokenizer);
  CHECK(config.dry_breaker_ids.empty());
  config.dry_multiplier = 1;
  CHECK_THROWS_WITH_AS(config.resolve_texts(tokenizer), doctest::Contains("nowhere"), Error);
  config.dry_breaker_ids = {3};
  config.dry_breaker_texts = {";"};
  config.resolve_texts(tokenizer);
  CHECK(config.dry_breaker_ids == std::vector<TokenId>{3, 1, 2, 4});
  CHECK(config.dry_breaker_texts.empty());
}

TEST_CASE("absent and null fields leave the defaults: greedy, no top_k, no limit") {
  for (const char* text : {"null", "{}", R"({"do_sample": null, "top_k": null, "top_p": null,
                            "max_new_tokens": null, "eos_token_id": null})"}) {
    const auto config = read(text);
    CHECK_FALSE(config.sample);
    CHECK(config.temperature == 1.0f);
    CHECK(config.top_k == 0);
    CHECK(config.top_p == 1.0f);
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
      {R"({"seed": -1})", "seed"},
      {R"({"seed": "18446744073709551616"})", "seed"},
      {R"({"seed": "7x"})", "seed"},
      {R"({"typical_p": 0})", "typical_p"},
      {R"({"presence_penalty": 1e9})", "presence_penalty"},
      {R"({"frequency_penalty": "x"})", "frequency_penalty"},
      {R"({"epsilon_cutoff": -1})", "epsilon_cutoff"},
      {R"({"xtc_threshold": 2})", "xtc_threshold"},
      {R"({"dry_allowed_length": 0})", "dry_allowed_length"},
      {R"({"dry_base": 0.5})", "dry_base"},
      {R"({"mirostat": 3})", "mirostat"},
      {R"({"min_tokens": -1})", "min_tokens"},
      {R"({"logit_bias": {"x": 1}})", "logit_bias"},
      {R"({"logit_bias": {"-4": 1}})", "logit_bias"},
      {R"({"logit_bias": {"4": true}})", "logit_bias"},
      {R"({"logit_bias": [[4]]})", "logit_bias"},
      {R"({"logit_bias": {"4": 1e9}})", "bias"},
      {R"({"sequence_bias": [[[], 1]]})", "sequence_bias"},
      {R"({"bad_words_ids": [3, []]})", "sequence"},
      {R"({"bad_words_ids": [["x"]]})", "bad_words_ids"},
      {R"({"suppress_tokens": [-1]})", "suppress_tokens"},
      {R"({"forced_token_ids": [[-1, 2]]})", "forced_token_ids"},
      {R"({"exponential_decay_length_penalty": [1]})", "exponential_decay_length_penalty"},
      {R"({"exponential_decay_length_penalty": [1, -1]})", "exponential_decay_length_penalty"},
      {R"({"dry_sequence_breakers": [""]})", "dry_sequence_breakers"},
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
