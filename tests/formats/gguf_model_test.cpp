#include "formats/gguf_model.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

#include "formats/fault.h"
#include "formats/gguf_builder.h"
#include "formats/gguf_fields.h"
#include "formats/model_files.h"
#include "formats/safetensors.h"

namespace fs = std::filesystem;

namespace linnet {
namespace {

const fs::path kModels = fs::path(LINNET_SOURCE_DIR) / "tests/golden/models";

// The least metadata of a model: hidden 4, two heads of two.
GgufBuilder small_model(const std::string& architecture = "llama") {
  GgufBuilder builder;
  builder.text("general.architecture", architecture);
  const std::pair<const char*, std::uint32_t> sizes[] = {
      {".block_count", 1},         {".context_length", 16},      {".embedding_length", 4},
      {".feed_forward_length", 8}, {".attention.head_count", 2},
  };
  for (const auto& [key, value] : sizes) builder.number(architecture + key, value);
  builder.number(architecture + ".vocab_size", 3);
  return builder;
}

std::shared_ptr<const GgufFile> parse(const GgufBuilder& builder) {
  auto owner = std::make_shared<std::string>(builder.build());
  const Bytes bytes = as_bytes(*owner);
  return GgufFile::from_bytes(bytes, "test.gguf", std::move(owner));
}

std::string numbers(int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += raw(static_cast<float>(i));
  return bytes;
}

}  // namespace

TEST_CASE("names of tensors in both worlds") {
  const std::pair<const char*, const char*> names[] = {
      {"token_embd.weight", "model.embed_tokens.weight"},
      {"output_norm.weight", "model.norm.weight"},
      {"output.weight", "lm_head.weight"},
      {"blk.0.attn_norm.weight", "model.layers.0.input_layernorm.weight"},
      {"blk.12.attn_q.weight", "model.layers.12.self_attn.q_proj.weight"},
      {"blk.12.attn_q.bias", "model.layers.12.self_attn.q_proj.bias"},
      {"blk.3.attn_k.weight", "model.layers.3.self_attn.k_proj.weight"},
      {"blk.3.attn_v.bias", "model.layers.3.self_attn.v_proj.bias"},
      {"blk.3.attn_output.weight", "model.layers.3.self_attn.o_proj.weight"},
      {"blk.3.ffn_norm.weight", "model.layers.3.post_attention_layernorm.weight"},
      {"blk.3.ffn_gate.weight", "model.layers.3.mlp.gate_proj.weight"},
      {"blk.3.ffn_up.weight", "model.layers.3.mlp.up_proj.weight"},
      {"blk.3.ffn_down.bias", "model.layers.3.mlp.down_proj.bias"},
  };
  for (const auto& [gguf, huggingface] : names) {
    CHECK(huggingface_name_of(gguf) == huggingface);
    CHECK(gguf_name_of(huggingface) == gguf);
  }
  for (const char* other :
       {"rope_freqs.weight", "blk.x.attn_q.weight", "blk.1.attn_rot.weight", "blk.1.weight",
        "blk..attn_q.weight", "output", "", ".weight", "blk.1.attn_q.scale"}) {
    CHECK(huggingface_name_of(other) == other);
  }
}

TEST_CASE("a GGUF file and a folder of the same model are the same") {
  const ModelFiles folder = open_model_files(kModels / "llama-arch");
  const ModelFiles gguf = open_model_files(kModels / "gguf/llama-arch-f32.gguf");
  CHECK(gguf.tensor_names().size() == folder.tensor_names().size());
  for (const std::string& name : folder.tensor_names()) {
    CAPTURE(name);
    REQUIRE(gguf.has(name));
    CHECK(gguf.tensor(name).shape() == folder.tensor(name).shape());
    CHECK(gguf.tensor(name).to_floats() == folder.tensor(name).to_floats());
  }
  for (const char* key :
       {"architectures", "model_type", "vocab_size", "hidden_size", "intermediate_size", "head_dim",
        "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
        "max_position_embeddings", "tie_word_embeddings", "attention_bias", "mlp_bias"}) {
    CAPTURE(key);
    CHECK(gguf.config.at(key) == folder.config.at(key));
  }
  CHECK(gguf.config.at("rope_theta").as_double() == 100000.0);
  CHECK(gguf.config.at("rms_norm_eps").as_double() == doctest::Approx(1e-5));
  CHECK(fault_of([&] { gguf.load_tokenizer(); })->code == ErrorCode::not_found);
}

TEST_CASE("quantized files of SmolLM3's architecture") {
  const auto arrays = SafetensorsFile::open(kModels / "gguf/cases.safetensors");
  const std::pair<const char*, const char*> files[] = {{"base-gqa-f16.gguf", "base-f16"},
                                                       {"base-gqa-q8_0.gguf", "base-q8_0"},
                                                       {"base-gqa-q4_0.gguf", "base-q4_0"}};
  const ModelFiles folder = open_model_files(kModels / "base-gqa");
  for (const auto& [file, name] : files) {
    const std::string file_name = file;
    CAPTURE(file_name);
    const ModelFiles gguf = open_model_files(kModels / "gguf" / file);
    const std::string key = "model.layers.1.self_attn.k_proj.weight";
    CHECK(gguf.tensor(key).to_floats() ==
          arrays->tensor(std::string(name) + "/weight." + key).to_floats());
    CHECK(gguf.tensor_names().size() == folder.tensor_names().size());
    CHECK(gguf.config.at("no_rope_layer_interval").as_int() == 4);
    CHECK(gguf.config.at("architectures") == folder.config.at("architectures"));
    CHECK(gguf.config.at("eos_token_id") == folder.config.at("eos_token_id"));
    CHECK(gguf.tokenizer_config.at("eos_token").as_string() == "<eos>");
    const std::string text = "the ticket, 12 times <|im_end|> h\xc3\xa9!";
    CHECK(gguf.load_tokenizer()->encode(text) == folder.load_tokenizer()->encode(text));
  }
}

TEST_CASE("rows of Q and K are put back, biases too, in every type") {
  GgufBuilder builder = small_model();
  builder.number("llama.attention.head_count_kv", 1).number("llama.attention.key_length", 4);
  builder.tensor("blk.0.attn_q.weight", {1, 8}, 0, numbers(8));
  builder.tensor("blk.0.attn_q.bias", {8}, 0, numbers(8));
  builder.tensor("blk.0.attn_v.weight", {1, 8}, 0, numbers(8));
  std::string blocks;
  for (char row = 0; row < 4; ++row) blocks += raw<std::uint16_t>(0x3c00) + std::string(32, row);
  builder.tensor("blk.0.attn_k.weight", {32, 4}, 8, blocks);
  const auto weights = gguf_weights(parse(builder));
  // Two heads of four rows: 0 2 1 3 each.
  const std::vector<float> moved{0, 2, 1, 3, 4, 6, 5, 7};
  CHECK(weights->tensor("model.layers.0.self_attn.q_proj.weight").to_floats() == moved);
  CHECK(weights->tensor("model.layers.0.self_attn.q_proj.bias").to_floats() == moved);
  CHECK(weights->tensor("model.layers.0.self_attn.v_proj.weight").to_floats()[1] == 1);
  const Tensor keys = weights->tensor("model.layers.0.self_attn.k_proj.weight");
  CHECK(keys.dtype() == DType::q8_0);
  float row[32];
  for (const auto& [index, value] : {std::pair{0, 0.0f}, {1, 2.0f}, {2, 1.0f}, {3, 3.0f}}) {
    keys.decode_row(index, row);
    CHECK(row[31] == value);
  }
}

TEST_CASE("rows that are not whole heads are refused") {
  for (const std::uint64_t rows : {7u, 6u, 1u}) {  // 6: heads of three rows
    GgufBuilder builder = small_model();
    builder.tensor("blk.0.attn_q.weight", {1, rows}, 0, numbers(static_cast<int>(rows)));
    const auto fault = fault_of(
        [&] { gguf_weights(parse(builder))->tensor("model.layers.0.self_attn.q_proj.weight"); });
    REQUIRE(fault);
    CHECK(fault->mentions("blk.0.attn_q.weight"));
  }
  GgufBuilder scalar = small_model();
  scalar.tensor("blk.0.attn_q.weight", {}, 0, numbers(1));
  CHECK(fault_of(
      [&] { gguf_weights(parse(scalar))->tensor("model.layers.0.self_attn.q_proj.weight"); }));
}

TEST_CASE("missing tensors are named in both worlds") {
  const auto weights = gguf_weights(parse(small_model()));
  const auto fault = fault_of([&] { weights->tensor("model.norm.weight"); });
  REQUIRE(fault);
  CHECK(fault->code == ErrorCode::corrupt_file);
  CHECK(fault->mentions("test.gguf"));
  CHECK(fault->mentions("output_norm.weight"));
  CHECK(fault->mentions("model.norm.weight"));
}

TEST_CASE("defaults of a configuration") {
  const Json config = gguf_config(*parse(small_model()));
  CHECK(config.at("head_dim").as_int() == 2);
  CHECK(config.at("num_key_value_heads").as_int() == 2);
  CHECK(config.at("rope_theta").as_double() == 10000.0);
  CHECK(config.at("rope_scaling").is_null());
  CHECK(config.at("tie_word_embeddings").as_bool());
  CHECK(config.at("vocab_size").as_int() == 3);
  CHECK(config.find("no_rope_layer_interval") == nullptr);
  CHECK(config.at("bos_token_id").is_null());
  CHECK(gguf_generation_config(*parse(small_model())).is_null());
  CHECK(gguf_tokenizer_config(*parse(small_model())).is_null());
  GgufBuilder untied = small_model("smollm3");
  untied.tensor("output.weight", {4, 3}, 0, numbers(12))
      .tensor("token_embd.weight", {4, 5}, 30, std::string(40, '\0'));
  CHECK_FALSE(gguf_config(*parse(untied)).at("tie_word_embeddings").as_bool());
  CHECK(gguf_config(*parse(untied)).at("vocab_size").as_int() == 5);
  CHECK(gguf_config(*parse(untied)).at("torch_dtype").as_string() == "bfloat16");
  CHECK(gguf_config(*parse(untied)).at("no_rope_layer_interval").as_int() == 4);
}

TEST_CASE("scaling of the rotation") {
  GgufBuilder yarn = small_model();
  yarn.text("llama.rope.scaling.type", "yarn").real("llama.rope.scaling.factor", 4);
  yarn.number("llama.rope.scaling.original_context_length", 8);
  const Json scaling = gguf_config(*parse(yarn)).at("rope_scaling");
  CHECK(scaling.at("rope_type").as_string() == "yarn");
  CHECK(scaling.at("factor").as_double() == 4);
  CHECK(scaling.at("original_max_position_embeddings").as_int() == 8);
  GgufBuilder linear = small_model();
  linear.text("llama.rope.scaling.type", "linear").real("llama.rope.scaling.factor", 2);
  CHECK(gguf_config(*parse(linear)).at("rope_scaling").at("factor").as_double() == 2);
  GgufBuilder none = small_model();
  none.text("llama.rope.scaling.type", "none");
  CHECK(gguf_config(*parse(none)).at("rope_scaling").is_null());
  GgufBuilder other = small_model();
  other.text("llama.rope.scaling.type", "spiral");
  CHECK(fault_of([&] { gguf_config(*parse(other)); })->code == ErrorCode::unsupported);
  GgufBuilder factors = small_model();
  factors.tensor("rope_freqs.weight", {1}, 0, raw(8.0f));
  const Json longrope = gguf_config(*parse(factors)).at("rope_scaling");
  CHECK(longrope.at("rope_type").as_string() == "longrope");
  CHECK(longrope.at("short_factor") == Json(Json::Array{Json(8.0)}));
  CHECK(longrope.at("attention_factor").as_double() == 1.0);
}

TEST_CASE("stop ids: eos, eot and eom") {
  GgufBuilder builder = small_model();
  builder.number("tokenizer.ggml.bos_token_id", 1).number("tokenizer.ggml.eos_token_id", 2);
  builder.number("tokenizer.ggml.eot_token_id", 5)
      .number("tokenizer.ggml.eom_token_id", 0xffffffffu);
  const Json config = gguf_generation_config(*parse(builder));
  CHECK(config.at("eos_token_id") == Json(Json::Array{Json(2), Json(5)}));
  CHECK(config.at("bos_token_id").as_int() == 1);
  CHECK(config.find("pad_token_id") == nullptr);
  CHECK(gguf_config(*parse(builder)).at("eos_token_id").as_int() == 2);
}

TEST_CASE("sampling defaults") {
  GgufBuilder builder = small_model();
  builder.real("general.sampling.temp", 0.6f).real("general.sampling.top_p", 0.95f);
  builder.real("general.sampling.min_p", 0.05f).real("general.sampling.penalty_repeat", 1.1f);
  builder.key("general.sampling.top_k", 5, raw<std::int32_t>(20));
  CHECK(gguf_generation_config(*parse(builder)) ==
        Json::parse(R"({"do_sample": true, "temperature": 0.6, "top_k": 20, "top_p": 0.95,
                        "min_p": 0.05, "repetition_penalty": 1.1})",
                    "expected"));
  GgufBuilder greedy = small_model();
  greedy.real("general.sampling.temp", 0).key("general.sampling.top_k", 5, raw<std::int32_t>(-1));
  CHECK(gguf_generation_config(*parse(greedy)) ==
        Json::parse(R"({"do_sample": false, "top_k": 0})", "expected"));
  GgufBuilder broken = small_model();
  broken.real("general.sampling.top_p", std::numeric_limits<float>::quiet_NaN());
  const auto fault = fault_of([&] { gguf_generation_config(*parse(broken)); });
  REQUIRE(fault.has_value());
  CHECK(fault->message.find("general.sampling.top_p") != std::string::npos);
}

TEST_CASE("sampling defaults as metadata") {
  const auto fields_of = [](const char* config) {
    std::string out;
    for (const GgufField& field : gguf_sampling_fields(Json::parse(config, "config"))) {
      const auto* number = std::get_if<float>(&field.value);
      out += field.key.substr(std::string("general.sampling.").size()) + "=" +
             Json(number != nullptr ? static_cast<double>(*number)
                                    : std::get<std::int32_t>(field.value))
                 .dump() +
             " ";
    }
    return out;
  };
  CHECK(fields_of("null") == "");
  CHECK(fields_of("{\"eos_token_id\": 2}") == "");
  CHECK(fields_of("{\"do_sample\": false}") == "temp=0.0 ");
  CHECK(fields_of("{\"temperature\": 0.5}") == "temp=0.0 ");  // greedy unless do_sample says more
  CHECK(fields_of(R"({"do_sample": true, "temperature": 0.5, "top_k": 7, "top_p": 0.25,
                      "min_p": 0, "repetition_penalty": 2})") ==
        "temp=0.5 top_k=7.0 top_p=0.25 min_p=0.0 penalty_repeat=2.0 ");
  CHECK(fields_of("{\"do_sample\": true, \"top_k\": null}") == "temp=1.0 ");
  for (const char* bad : {R"({"top_p": "x"})", R"({"top_k": -1})", R"({"top_k": 4294967296})",
                          R"({"min_p": 1e300})", R"({"min_p": -1})", R"({"do_sample": 1})"}) {
    const auto fault = fault_of([&] { fields_of(bad); });
    REQUIRE_MESSAGE(fault.has_value(), bad);
    CHECK(fault->message.find("generation_config: ") != std::string::npos);
  }
  CHECK(lost_generation_fields(Json::parse(R"({"max_new_tokens": 5, "top_k": 1})", "c")) ==
        std::vector<std::string>{"max_new_tokens"});
}

TEST_CASE("bad metadata is refused by its key") {
  struct BadModel {
    GgufBuilder builder;
    const char* mentions;
    ErrorCode code;
  };
  GgufBuilder none;
  none.number("x", 1);
  GgufBuilder zero_heads;
  zero_heads.text("general.architecture", "llama").number("llama.context_length", 8);
  zero_heads.number("llama.vocab_size", 3);
  zero_heads.number("llama.embedding_length", 8).number("llama.attention.head_count", 0);
  const auto with = [](auto change) {
    GgufBuilder builder = small_model();
    change(builder);
    return builder;
  };
  const BadModel models[] = {
      {none, "general.architecture", ErrorCode::corrupt_file},
      {small_model("quux"), "quux", ErrorCode::unsupported},
      {zero_heads, "llama.attention.head_count", ErrorCode::corrupt_file},
      {with([](GgufBuilder& b) { b.number("llama.attention.head_count_kv", 0); }), "head_count_kv",
       ErrorCode::corrupt_file},
      {with([](GgufBuilder& b) {
         b.key("llama.attention.head_count_kv", 9,
               raw<std::uint32_t>(4) + raw<std::uint64_t>(2) + raw<std::uint32_t>(1) +
                   raw<std::uint32_t>(2));
       }),
       "head_count_kv", ErrorCode::unsupported},
      {with([](GgufBuilder& b) { b.text("llama.rope.freq_base", "x"); }), "llama.rope.freq_base",
       ErrorCode::corrupt_file},
      {with([](GgufBuilder& b) { b.number("llama.attention.value_length", 3); }), "value_length",
       ErrorCode::unsupported},
      {with([](GgufBuilder& b) { b.number("llama.attention.key_length", 0xffffffffu); }),
       "key_length", ErrorCode::corrupt_file},
      {with([](GgufBuilder& b) { b.text("tokenizer.ggml.eos_token_id", "2"); }), "eos_token_id",
       ErrorCode::corrupt_file},
      {with([](GgufBuilder& b) { b.number("llama.rope.scaling.type", 2); }), "rope.scaling.type",
       ErrorCode::corrupt_file},
  };
  for (const BadModel& model : models) {
    CAPTURE(model.mentions);
    const auto fault = fault_of([&] { gguf_config(*parse(model.builder)); });
    REQUIRE(fault);
    CHECK(fault->code == model.code);
    CHECK_MESSAGE(fault->mentions("test.gguf"), fault->message);
    CHECK_MESSAGE(fault->mentions(model.mentions), fault->message);
  }
}

TEST_CASE("a byte-level vocabulary that claims another model is refused, and so are wrong types") {
  GgufBuilder builder = small_model();
  builder.text("tokenizer.ggml.model", "llama")
      .texts("tokenizer.ggml.tokens", {"\xc4\xa0the", "a"});
  CHECK(fault_of([&] { gguf_tokenizer(*parse(builder)); })->mentions("tokenizer.ggml.model"));
  GgufBuilder numbers_as_tokens = small_model();
  numbers_as_tokens.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "llama-bpe");
  numbers_as_tokens.key("tokenizer.ggml.tokens", 9,
                        raw<std::uint32_t>(6) + raw<std::uint64_t>(1) + raw(1.0f));
  CHECK(fault_of([&] {
          gguf_tokenizer(*parse(numbers_as_tokens));
        })->mentions("tokenizer.ggml.tokens"));
}

}  // namespace linnet
