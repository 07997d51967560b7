#include "model/rope.h"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include "model/forward.h"
#include "model/model_folder.h"

using namespace linnet;
using linnet::testing::ModelFolder;

namespace {

constexpr double kPi = 3.14159265358979323846;

// SmolLM3's own sizes, with a rotation.
Json smollm3(std::string_view rope) {
  Json config = Json::parse(R"({"architectures": ["SmolLM3ForCausalLM"], "vocab_size": 100,
    "hidden_size": 2048, "intermediate_size": 8, "num_hidden_layers": 4, "num_attention_heads": 16,
    "num_key_value_heads": 4, "max_position_embeddings": 131072, "rope_theta": 5000000.0})",
                            "config");
  config.set("rope_scaling", Json::parse(rope, "rope"));
  return config;
}

RopeTable table_of(const Json& config) {
  return make_rope_table(ModelConfig::from_json(config, "c.json"));
}

std::string fault_of(std::string_view rope) {
  try {
    table_of(smollm3(rope));
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

constexpr const char* kYarn =
    R"({"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 65536})";

TEST_CASE("a stretched context is that of a config which says so") {
  Json plain = smollm3("{}");
  plain.set("rope_scaling", Json());
  plain.set("max_position_embeddings", 65536);
  ModelConfig config = ModelConfig::from_json(plain, "c.json");
  stretch_context(config, 2);
  const RopeTable expected = table_of(smollm3(R"({"rope_type": "yarn", "factor": 2.0,
                                               "original_max_position_embeddings": 65536})"));
  CHECK(config.max_positions == 131072);
  CHECK(make_rope_table(config).inverse_frequency == expected.inverse_frequency);
  CHECK(make_rope_table(config).attention_factor == expected.attention_factor);
  CHECK_THROWS_AS(stretch_context(config, 2), Error);  // only once
  ModelConfig again = ModelConfig::from_json(plain, "c.json");
  for (const double factor : {1.0, 0.5, -1.0, std::nan(""), 1e9}) {
    CHECK_THROWS_AS(stretch_context(again, factor), Error);
  }
}

// Two layers, the second without rotation, and room for 16 positions.
void configure(ModelFolder& folder, std::string_view rope) {
  folder.set("architectures", R"(["SmolLM3ForCausalLM"])");
  folder.set("num_hidden_layers", "2");
  folder.set("no_rope_layers", "[1, 0]");
  folder.set("max_position_embeddings", "16");
  folder.set("rope_scaling", rope);
  folder.make_tensors();
}
constexpr const char* kDynamic = R"({"type": "dynamic", "factor": 2.0})";
constexpr const char* kLongrope = R"({"rope_type": "longrope", "factor": 4.0,
  "original_max_position_embeddings": 16, "short_factor": [1.0, 1.5], "long_factor": [2.0, 3.0]})";

std::vector<std::int64_t> some_tokens(std::int64_t count) {
  std::vector<std::int64_t> tokens;
  for (std::int64_t i = 0; i < count; ++i) tokens.push_back((i * 7 + 3) % 20);
  return tokens;
}

std::vector<float> logits(const Model& model, const std::vector<std::int64_t>& tokens,
                          KvCache* cache = nullptr, std::int64_t past = 0) {
  ForwardRequest request;
  request.input.batch = 1;
  request.input.length = static_cast<std::int64_t>(tokens.size());
  request.input.tokens = tokens;
  request.input.past_columns = past;
  if (cache != nullptr) request.caches = {cache, 1};
  return forward(model, request).logits;
}

// The logits of the tokens fed in pieces.
std::vector<float> in_pieces(const Model& model, const std::vector<std::int64_t>& tokens,
                             std::int64_t piece, KvCache& cache) {
  std::vector<float> joined;
  const auto count = static_cast<std::int64_t>(tokens.size());
  for (std::int64_t at = 0; at < count; at += piece) {
    const std::vector<std::int64_t> part(tokens.begin() + at,
                                         tokens.begin() + std::min(count, at + piece));
    const auto some = logits(model, part, &cache, at);
    joined.insert(joined.end(), some.begin(), some.end());
  }
  return joined;
}

}  // namespace

TEST_CASE("yarn at the size of SmolLM3: the ramp lies at pairs 24 to 39") {
  const RopeTable table = table_of(smollm3(kYarn));
  const std::vector<double> plain = plain_frequencies(5e6, 128);
  CHECK(table.attention_factor == doctest::Approx(1.0693147).epsilon(1e-7));
  for (std::size_t i = 0; i < 64; ++i) {
    const double ratio = plain[i] / table.inverse_frequency[i];
    if (i <= 24) CHECK(ratio == doctest::Approx(1.0).epsilon(1e-12));
    if (i >= 39) CHECK(ratio == doctest::Approx(2.0).epsilon(1e-12));
    if (i > 24 && i < 39) {
      const double ramp = (static_cast<double>(i) - 24) / 15;
      CHECK(1 / ratio == doctest::Approx(1 - ramp / 2).epsilon(1e-12));
    }
  }
  const Json four = Json::parse(R"({"type": "yarn", "factor": 4.0,
    "original_max_position_embeddings": 65536})",
                                "r");
  CHECK(table_of(smollm3(four.dump())).attention_factor ==
        doctest::Approx(1.1386294).epsilon(1e-7));
}

TEST_CASE("an attention factor that is given replaces the formula; other layers stay plain") {
  Json rope = Json::parse(kYarn, "rope");
  rope.set("attention_factor", 1.0);
  const RopeTable table = table_of(smollm3(rope.dump()));
  CHECK(table.attention_factor == 1.0);
  CHECK(table_of(smollm3("null")).attention_factor == 1.0);
  const Program program = build_program(ModelConfig::from_json(smollm3(kYarn), "c.json"));
  std::vector<int> rotations(4, 0);
  for (const Step& step : program.steps) {
    if (step.op == Op::rope) ++rotations[static_cast<std::size_t>(step.layer)];
  }
  CHECK(rotations == std::vector<int>{2, 2, 2, 0});
}

TEST_CASE("yarn goes by its factor and notes when the lengths say otherwise") {
  const auto notes = [](std::int64_t positions) {
    Json config = smollm3(kYarn);
    config.set("max_position_embeddings", positions);
    CHECK(table_of(config).attention_factor == doctest::Approx(1.0693147).epsilon(1e-7));
    return ModelConfig::from_json(config, "c.json").notes;
  };
  CHECK(notes(131072).empty());
  REQUIRE(notes(65536).size() == 1);
  for (const char* part : {"factor", "2", "65536"})
    CHECK(notes(65536)[0].find(part) != std::string::npos);
  // Without a factor the ratio is all there is.
  const RopeTable ratio =
      table_of(smollm3(R"({"rope_type": "yarn", "original_max_position_embeddings": 65536})"));
  CHECK(ratio.inverse_frequency == table_of(smollm3(kYarn)).inverse_frequency);
}

TEST_CASE("tables agree with those computed elsewhere") {
  const std::filesystem::path path = LINNET_SHARED_DIR "/golden/rope_golden.json";
  if (!std::filesystem::exists(path)) {
    MESSAGE("skipped: the shared data is not on this machine");
    return;
  }
  const Json golden = Json::parse_file(path.string());
  const auto expected = golden.at("default").as_array();
  const auto plain = table_of(smollm3("null")).inverse_frequency;
  REQUIRE(plain.size() == expected.size());
  for (std::size_t i = 0; i < plain.size(); ++i)
    CHECK(plain[i] == doctest::Approx(expected[i].as_double()).epsilon(1e-12));
}

TEST_CASE("llama3 keeps short waves, stretches long ones and blends between") {
  const RopeTable table = table_of(smollm3(R"({"rope_type": "llama3", "factor": 8.0,
    "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192})"));
  const std::vector<double> plain = plain_frequencies(5e6, 128);
  bool blended = false;
  for (std::size_t i = 0; i < 64; ++i) {
    const double turns = 8192 * plain[i] / (2 * kPi), ratio = plain[i] / table.inverse_frequency[i];
    if (turns > 4) CHECK(ratio == 1.0);
    if (turns < 1) CHECK(ratio == doctest::Approx(8.0));
    blended = blended || (ratio > 1.01 && ratio < 7.9);
  }
  CHECK(blended);
}

TEST_CASE("dynamic and longrope go by the length of the sequence, not of the batch") {
  for (const char* rope : {kDynamic, kLongrope}) {
    ModelFolder folder;
    configure(folder, rope);
    const auto model = folder.load();
    const RopeTable& table = model->program().ropes[0];
    CHECK(table.limit == 16);
    CHECK(rope_table_for(table, 16).inverse_frequency == table.inverse_frequency);
    CHECK(rope_table_for(table, 17).inverse_frequency != table.inverse_frequency);
    // One short and one long sequence, together and alone.
    const auto short_one = some_tokens(5), long_one = some_tokens(24);
    std::vector<std::vector<std::int32_t>> both = {{short_one.begin(), short_one.end()},
                                                   {long_one.begin(), long_one.end()}};
    const PaddedTokens padded = pad_sequences(both, 0);
    ForwardRequest request;
    request.input = padded.view();
    const auto together = forward(*model, request).logits;
    const auto alone = logits(*model, short_one), alone_long = logits(*model, long_one);
    CHECK(std::equal(alone.begin(), alone.end(), together.begin()));
    CHECK(std::equal(alone_long.rbegin(), alone_long.rend(), together.rbegin()));
  }
}

TEST_CASE("the length of a sequence is declared, or that of its first call, and then stays") {
  for (const char* rope : {kDynamic, kLongrope}) {
    ModelFolder folder;
    configure(folder, rope);
    const auto model = folder.load();
    const auto tokens = some_tokens(24);
    const auto whole = logits(*model, tokens);
    for (const std::int64_t piece : {1, 5, 16, 23}) {
      KvCache declared = model->make_cache();
      declared.declare_length(24);
      CHECK(in_pieces(*model, tokens, piece, declared) == whole);
      KvCache plain = model->make_cache();
      // longrope has one table for all long sequences.
      const RopeTable& table = model->program().ropes[0];
      const bool same = rope_table_for(table, piece).inverse_frequency ==
                        rope_table_for(table, 24).inverse_frequency;
      CHECK((in_pieces(*model, tokens, piece, plain) == whole) == same);
      CHECK(plain.rope_length() == piece);
      plain.truncate(1);
      CHECK(plain.rope_length() == piece);
      plain.truncate(0);
      CHECK(plain.rope_length() == 0);
      CHECK(logits(*model, tokens, &plain) == whole);
    }
    KvCache begun = model->make_cache();
    logits(*model, tokens, &begun);
    CHECK_THROWS_AS(begun.declare_length(30), std::logic_error);
  }
}

TEST_CASE("parameters that are missing or make no sense are refused by name") {
  const auto mentions = [](std::string_view rope, std::string_view part) {
    const std::string fault = fault_of(rope);
    CHECK_MESSAGE(fault.find(part) != std::string::npos, fault);
  };
  mentions(R"({"rope_type": "wavelet", "factor": 2})", "wavelet");
  mentions(R"({"type": "linear"})", "factor");
  mentions(R"({"type": "dynamic", "factor": -1})", "factor");
  mentions(R"({"type": "linear", "factor": 1e-12})", "frequency");
  mentions(R"({"type": "yarn", "factor": 2, "beta_fast": 1, "beta_slow": 2})", "beta_fast");
  mentions(R"({"type": "yarn", "factor": 2, "attention_factor": 0})", "attention_factor");
  mentions(R"({"type": "yarn", "factor": "two"})", "factor");
  mentions(R"({"type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4})",
           "original_max_position_embeddings");
  mentions(R"({"type": "llama3", "factor": 8, "original_max_position_embeddings": 8192,
               "low_freq_factor": 4, "high_freq_factor": 4})",
           "high_freq_factor");
  mentions(R"({"type": "longrope", "factor": 2, "short_factor": [1], "long_factor": [1]})",
           "short_factor");
  mentions(R"({"type": "default", "partial_rotary_factor": 0.5})", "partial_rotary_factor");
  mentions(R"({"full_attention": {"rope_type": "default"}})", "full_attention");
  mentions(R"([1])", "rope_scaling");
}

TEST_CASE("the base may stand in either place; the inner one wins with a note") {
  Json config = smollm3(R"({"rope_type": "default", "rope_theta": 10000.0, "extra": 1})");
  const ModelConfig both = ModelConfig::from_json(config, "c.json");
  CHECK(both.rope.theta == 10000);
  CHECK(both.notes.size() == 1);
  CHECK(both.unknown_keys == std::vector<std::string>{"rope_scaling.extra"});
  config.set("rope_theta", Json());
  CHECK(ModelConfig::from_json(config, "c.json").rope.theta == 10000);
  CHECK(ModelConfig::from_json(config, "c.json").notes.empty());
}
