#include "model/config.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "model/build_program.h"

using namespace linnet;

namespace {

Json small_config() {
  return Json::parse(R"({"architectures": ["SmolLM3ForCausalLM"], "model_type": "smollm3",
    "vocab_size": 100, "hidden_size": 32, "intermediate_size": 37, "num_hidden_layers": 5,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 512,
    "rms_norm_eps": 1e-06, "rope_theta": 5000000.0, "hidden_act": "silu", "eos_token_id": 7,
    "an_unknown_key": {"x": 1}})",
                     "config");
}

Json with(std::string_view key, Json value) {
  Json config = small_config();
  config.set(key, std::move(value));
  return config;
}

std::string fault_of(const Json& config, ErrorCode code) {
  try {
    build_program(ModelConfig::from_json(config, "c.json"));
  } catch (const Error& error) {
    CHECK(error.code() == code);
    return error.what();
  }
  return "no error";
}

bool mentions(const std::string& text, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) {
    if (text.find(part) != std::string::npos) continue;
    MESSAGE(text);
    return false;
  }
  return true;
}

}  // namespace

TEST_CASE("what a config leaves out follows transformers") {
  const ModelConfig config = ModelConfig::from_json(small_config(), "c");
  CHECK(config.head_dim == 8);
  CHECK(config.tied_head);
  CHECK(config.layer_has_rope == std::vector<bool>{true, true, true, false, true});
  CHECK(config.layer_window == std::vector<std::int64_t>(5, 0));
  CHECK(config.eos == std::vector<std::int32_t>{7});
  CHECK(config.bos == -1);
  Json llama = small_config();
  llama.set("model_type", "llama").set("architectures", Json(Json::Array{"LlamaForCausalLM"}));
  const ModelConfig other = ModelConfig::from_json(llama, "c");
  CHECK(!other.tied_head);
  CHECK(other.layer_has_rope == std::vector<bool>(5, true));
}

TEST_CASE("both spellings of the rotation give the same") {
  Json newer = small_config();
  newer.set("rope_theta", Json());
  newer.set("rope_parameters",
            Json::parse(R"({"rope_type": "default", "rope_theta": 5000000.0})", "r"));
  const ModelConfig a = ModelConfig::from_json(newer, "c"),
                    b = ModelConfig::from_json(small_config(), "c");
  CHECK(a.rope.theta == b.rope.theta);
  CHECK(a.rope.type == b.rope.type);
}

TEST_CASE("lists win over intervals; eos may be a list or null") {
  const auto parse = [](std::string_view text) { return Json::parse(text, "t"); };
  CHECK(ModelConfig::from_json(with("no_rope_layers", parse("[0, 1, 1, 1, 0, 1]")), "c")
            .layer_has_rope == std::vector<bool>{false, true, true, true, false});
  CHECK(ModelConfig::from_json(with("no_rope_layer_interval", 2), "c").layer_has_rope ==
        std::vector<bool>{true, false, true, false, true});
  CHECK(ModelConfig::from_json(with("eos_token_id", parse("[7, 9]")), "c").eos ==
        std::vector<std::int32_t>{7, 9});
  CHECK(ModelConfig::from_json(with("eos_token_id", Json()), "c").eos.empty());
  CHECK(ModelConfig::from_json(with("num_key_value_heads", Json()), "c").kv_heads == 4);
  Json sliding = with("use_sliding_window", true);
  sliding.set("sliding_window", 16);
  CHECK(ModelConfig::from_json(sliding, "c").layer_window ==
        std::vector<std::int64_t>{0, 0, 0, 16, 0});
}

TEST_CASE("the angle of dimension 10 at position 1000 follows the config's theta") {
  Json config = with("head_dim", 128);
  for (const double theta : {5e6, 1e4}) {
    config.set("rope_theta", theta);
    const Program program = build_program(ModelConfig::from_json(config, "c"));
    const double angle = 1000 * program.ropes[0].inverse_frequency[10];
    CHECK(angle == doctest::Approx(1000 * std::exp(-20.0 / 128 * std::log(theta))).epsilon(1e-12));
  }
}

TEST_CASE("what would change the result and is not known is refused by name") {
  const auto arch = Json(Json::Array{"Qwen9ForCausalLM"});
  CHECK(mentions(fault_of(with("architectures", arch), ErrorCode::unsupported),
                 {"c.json", "Qwen9ForCausalLM", "SmolLM3ForCausalLM"}));
  CHECK(mentions(fault_of(with("hidden_act", "mish"), ErrorCode::unsupported),
                 {"hidden_act", "mish"}));
  CHECK(mentions(
      fault_of(with("rope_scaling", Json::parse(R"({"rope_type":"wavelet","factor":2})", "r")),
               ErrorCode::unsupported),
      {"wavelet"}));
}

TEST_CASE("unknown keys are listed; those that ask for another computation are refused") {
  CHECK(ModelConfig::from_json(small_config(), "c").unknown_keys ==
        std::vector<std::string>{"an_unknown_key"});
  const auto parse = [](std::string_view text) { return Json::parse(text, "t"); };
  for (const auto& [key, value] : {std::pair{"partial_rotary_factor", "0.5"},
                                   {"final_logit_softcapping", "30.0"},
                                   {"num_experts", "8"},
                                   {"use_qk_norm", "true"},
                                   {"logits_scaling", "16"},
                                   {"attention_multiplier", "0.5"},
                                   {"embedding_multiplier", "\"x\""}}) {
    CHECK(mentions(fault_of(with(key, parse(value)), ErrorCode::unsupported), {"c.json", key}));
    CHECK_NOTHROW(ModelConfig::from_json(with(key, Json()), "c"));
  }
  for (const auto& [key, value] : {std::pair{"partial_rotary_factor", "1.0"},
                                   {"use_qk_norm", "false"},
                                   {"num_experts", "0"},
                                   {"torch_dtype", "\"bfloat16\""}}) {
    CHECK(ModelConfig::from_json(with(key, parse(value)), "c").unknown_keys.size() == 1);
  }
}

TEST_CASE("transformers' names of the activations") {
  for (const auto& [name, activation] : {std::pair{"silu", Activation::silu},
                                         {"gelu", Activation::gelu},
                                         {"gelu_new", Activation::gelu_tanh},
                                         {"gelu_fast", Activation::gelu_tanh},
                                         {"gelu_pytorch_tanh", Activation::gelu_tanh},
                                         {"relu", Activation::relu}}) {
    CHECK(ModelConfig::from_json(with("hidden_act", name), "c").activation == activation);
  }
}

TEST_CASE("the family comes from the architecture when model_type is missing") {
  const ModelConfig config = ModelConfig::from_json(with("model_type", Json()), "c");
  CHECK(config.layer_has_rope == std::vector<bool>{true, true, true, false, true});
  CHECK(config.tied_head);
}

TEST_CASE("a config that cannot be is refused by field") {
  const auto check = [](std::string_view key, Json value) {
    const std::string fault = fault_of(with(key, std::move(value)), ErrorCode::invalid_argument);
    CHECK(mentions(fault, {"c.json", key}));
  };
  check("rope_theta", Json());  // never guessed
  check("rope_theta", -1.0);
  check("vocab_size", 0);
  check("vocab_size", Json());
  check("vocab_size", "many");
  check("hidden_size", -3);
  check("hidden_size", std::int64_t{1} << 40);
  check("num_hidden_layers", 100000);
  check("num_attention_heads", 3);  // not a multiple of 2
  check("head_dim", 7);             // odd
  check("rms_norm_eps", 2.0);
  check("rms_norm_eps", "small");
  check("tie_word_embeddings", 1);
  check("no_rope_layers", Json(Json::Array{1, 1}));
  check("layer_types", Json(Json::Array{"full_attention"}));
  check("eos_token_id", "end");
  check("max_position_embeddings", 0.5);
  CHECK_THROWS_AS(ModelConfig::from_json(Json(3), "c"), Error);
}

TEST_CASE("the published SmolLM3 configuration gives the published number of parameters") {
  const std::filesystem::path path = LINNET_SHARED_DIR "/data/smollm3_config.json";
  if (!std::filesystem::exists(path)) {
    MESSAGE("skipped: the shared data is not on this machine");
    return;
  }
  const ModelConfig config = ModelConfig::from_json(Json::parse_file(path.string()), "smollm3");
  std::int64_t parameters = 0;
  const Program program = build_program(config);
  for (const WeightSlot& slot : program.weights) parameters += element_count(slot.shape, slot.name);
  CHECK(parameters == 3075098624);
  CHECK(program.weights.size() == 326);
  CHECK(std::count(config.layer_has_rope.begin(), config.layer_has_rope.end(), false) == 9);
  CHECK(config.eos == std::vector<std::int32_t>{128012});
}
