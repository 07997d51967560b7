#include "formats/model_files.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "formats/fault.h"
#include "formats/gguf_builder.h"
#include "formats/safetensors.h"
#include "formats/temp_folder.h"

namespace fs = std::filesystem;

namespace linnet {
namespace {

const fs::path kModels = fs::path(LINNET_SOURCE_DIR) / "tests/golden/models";

Tensor numbered(float value) { return Tensor::from_values({1}, std::array{value}); }

void write_weights(const fs::path& path, const std::vector<std::string>& names, float value = 1) {
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const std::string& name : names) tensors.emplace_back(name, numbered(value));
  write_safetensors(path, tensors);
}

// Two shards with an index, and a stray file that must not be read.
struct ShardedFolder {
  ShardedFolder() {
    folder.write("config.json", "{}");
    write_weights(folder / "model-1.safetensors", {"a", "b"}, 1);
    write_weights(folder / "model-2.safetensors", {"c"}, 2);
    write_weights(folder / "other.safetensors", {"a", "d"}, 9);
    index(R"({"a":"model-1.safetensors","b":"model-1.safetensors","c":"model-2.safetensors"})");
  }
  void index(const std::string& map) const {
    folder.write("model.safetensors.index.json",
                 R"({"metadata":{"total_size":12},"weight_map":)" + map + "}");
  }
  ModelFiles open() const { return open_model_files(folder.path()); }
  TempFolder folder;
};

bool sorted_equal(std::vector<std::string> a, std::vector<std::string> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

}  // namespace

TEST_CASE("a Hugging Face folder") {
  const ModelFiles files = open_model_files(kModels / "base-gqa");
  CHECK(files.format == "safetensors");
  CHECK(files.config.at("hidden_size").as_int() == 64);
  CHECK(files.config_file == (kModels / "base-gqa/config.json").string());
  CHECK(files.generation_config.is_object());
  CHECK_FALSE(files.chat_template);
  CHECK(files.tensor("model.embed_tokens.weight").shape() == Shape{384, 64});
  CHECK(files.describe("model.norm.weight") == (kModels / "base-gqa/model.safetensors").string() +
                                                   ": tensor \"model.norm.weight\" (F32 [64])");
  CHECK(files.load_tokenizer()->size() == 384);
  const auto fault = fault_of([&] { files.tensor("lm_head.weight"); });
  REQUIRE(fault);
  CHECK(fault->code == ErrorCode::corrupt_file);
  CHECK(fault->mentions("model.safetensors"));
  CHECK(fault->mentions("lm_head.weight"));

  OpenOptions options;
  options.config_name = "config.v4.json";
  options.access = FileAccess::read;
  CHECK(open_model_files(kModels / "base-gqa", options).config.find("rope_theta") != nullptr);
}

TEST_CASE("shards hold the same tensors as one file") {
  const ModelFiles whole = open_model_files(kModels / "base-gqa");
  const ModelFiles shards = open_model_files(kModels / "base-gqa-sharded");
  CHECK(sorted_equal(whole.tensor_names(), shards.tensor_names()));
  CHECK(whole.tensor_names().size() > 50);
  for (const std::string& name : whole.tensor_names()) {
    CHECK(whole.tensor(name).to_floats() == shards.tensor(name).to_floats());
  }
  CHECK(shards.notes.empty());
}

TEST_CASE("only what the index names is read, and the rest is told") {
  const ShardedFolder sharded;
  const ModelFiles files = sharded.open();
  CHECK(sorted_equal(files.tensor_names(), {"a", "b", "c"}));
  CHECK(files.tensor("a").to_floats() == std::vector<float>{1});
  CHECK_FALSE(files.has("d"));

  sharded.index(R"({"a":"model-1.safetensors","c":"model-2.safetensors"})");
  const ModelFiles fewer = sharded.open();
  CHECK_FALSE(fewer.has("b"));
  REQUIRE(fewer.notes.size() == 1);
  CHECK(fewer.notes[0].find("\"b\"") != std::string::npos);
}

TEST_CASE("three faults of an index have three messages") {
  const ShardedFolder sharded;
  const auto unknown = fault_of([&] { sharded.open().tensor("d"); });
  REQUIRE(unknown);
  CHECK(unknown->mentions("index.json: tensor \"d\": there is no such tensor"));

  sharded.index(R"({"a":"model-1.safetensors","c":"model-3.safetensors"})");
  const auto missing = fault_of([&] { sharded.open(); });
  REQUIRE(missing);
  CHECK(missing->code == ErrorCode::not_found);
  CHECK(missing->mentions("model-3.safetensors: this shard is missing"));

  sharded.index(R"({"a":"model-1.safetensors","c":"model-1.safetensors"})");
  const auto lacking = fault_of([&] { sharded.open(); });
  REQUIRE(lacking);
  CHECK(lacking->code == ErrorCode::corrupt_file);
  CHECK(lacking->mentions("model-1.safetensors: the shard lacks the tensor \"c\""));
}

TEST_CASE("an index cannot lead out of its folder") {
  const ShardedFolder sharded;
  for (const char* name :
       {"../model-1.safetensors", "/etc/passwd", "sub/model-1.safetensors", "..", "",
        "..\\\\model-1.safetensors", "model-1.safetensors\\u0000.safetensors", "config.json",
        "./model-1.safetensors", ".safetensors"}) {
    CAPTURE(name);
    sharded.index(R"({"a":")" + std::string(name) + R"("})");
    const auto fault = fault_of([&] { sharded.open(); });
    REQUIRE(fault);
    CHECK(fault->code == ErrorCode::corrupt_file);
    CHECK_MESSAGE(fault->mentions("model.safetensors.index.json"), fault->message);
  }
  for (const char* map : {"[]", "3", R"({"a":3})", R"({"a":null})"}) {
    sharded.index(map);
    CHECK(fault_of([&] { sharded.open(); })->mentions("weight_map"));
  }
  sharded.folder.write("model.safetensors.index.json", "[]");
  CHECK(fault_of([&] { sharded.open(); })->mentions("weight_map"));
}

TEST_CASE("one file wins over an index") {
  const ShardedFolder sharded;
  write_weights(sharded.folder / "model.safetensors", {"a"}, 5);
  const ModelFiles files = sharded.open();
  CHECK(files.tensor_names() == std::vector<std::string>{"a"});
  CHECK(files.notes.size() == 1);
}

TEST_CASE("what is missing is said, and what to do") {
  const TempFolder folder;
  const auto none = fault_of([&] { open_model_files(folder / "nowhere"); });
  CHECK(none->code == ErrorCode::not_found);
  CHECK(none->mentions("nowhere"));
  const auto empty = fault_of([&] { open_model_files(folder.path()); });
  CHECK(empty->code == ErrorCode::not_found);
  CHECK(empty->mentions("config.json"));

  folder.write("config.json", "{}");
  const ModelFiles files = open_model_files(folder.path());
  CHECK(files.generation_config.is_null());
  CHECK(files.tensor_names().empty());
  const auto weights = fault_of([&] { files.tensor("a"); });
  CHECK(weights->code == ErrorCode::not_found);
  CHECK(weights->mentions("model.safetensors"));
  const auto tokenizer = fault_of([&] { files.load_tokenizer(); });
  CHECK(tokenizer->code == ErrorCode::not_found);
  CHECK(tokenizer->mentions("tokenizer.json"));

  folder.write("config.json", "[]");
  CHECK(fault_of([&] { open_model_files(folder.path()); })->code == ErrorCode::corrupt_file);
  folder.write("config.json", "{");
  CHECK(fault_of([&] { open_model_files(folder.path()); })->mentions("config.json"));
}

TEST_CASE("the chat template: its own file first, then the tokenizer's config") {
  const TempFolder folder;
  folder.write("config.json", "{}");
  folder.write("tokenizer_config.json", R"({"chat_template":"from config"})");
  CHECK(open_model_files(folder.path()).chat_template == "from config");
  folder.write(
      "tokenizer_config.json",
      R"({"chat_template":[{"name":"tool_use","template":"x"},{"name":"default","template":"second"}]})");
  CHECK(open_model_files(folder.path()).chat_template == "second");
  folder.write("chat_template.jinja", "own file");
  CHECK(open_model_files(folder.path()).chat_template == "own file");
  fs::remove(folder / "chat_template.jinja");
  for (const char* bad :
       {R"({"chat_template":7})", R"({"chat_template":[{"name":"other","template":"x"}]})"}) {
    folder.write("tokenizer_config.json", bad);
    CHECK(fault_of([&] { open_model_files(folder.path()); })->mentions("chat_template"));
  }
  folder.write("tokenizer_config.json", R"({"chat_template":null})");
  CHECK_FALSE(open_model_files(folder.path()).chat_template);
}

TEST_CASE("a folder with one GGUF file, and one with two") {
  const TempFolder folder;
  fs::copy_file(kModels / "corrupt/gguf-good.gguf", folder / "a.gguf");
  CHECK(open_model_files(folder.path()).format == "gguf");
  fs::copy_file(folder / "a.gguf", folder / "b.gguf");
  const auto fault = fault_of([&] { open_model_files(folder.path()); });
  REQUIRE(fault);
  CHECK(fault->mentions("a.gguf, b.gguf"));
}

TEST_CASE("weights brought to a type as they are loaded") {
  const fs::path source = kModels / "base-gqa";
  const ModelFiles files = open_model_files(source);
  const auto opened_as = [&](DType dtype) {
    OpenOptions options;
    options.dtype = dtype;
    return open_model_files(source, options);
  };
  const std::string matrix = "model.layers.0.mlp.up_proj.weight";
  const Tensor exact = files.tensor(matrix);
  CHECK(exact.dtype() == DType::f32);
  const Tensor half = opened_as(DType::bf16).tensor(matrix);
  CHECK(half.dtype() == DType::bf16);
  CHECK(half.to_floats()[5] == bf16_to_f32(f32_to_bf16(exact.to_floats()[5])));
  CHECK(opened_as(DType::bf16).tensor("model.norm.weight").dtype() == DType::bf16);
  CHECK(opened_as(DType::q8_0).find(matrix)->dtype == DType::q8_0);
  CHECK(opened_as(DType::q8_0).tensor(matrix).dtype() == DType::q8_0);
  CHECK(opened_as(DType::q8_0).tensor("model.norm.weight").dtype() == DType::f32);
  CHECK(fault_of([&] { opened_as(DType::q6_k); })->code == ErrorCode::unsupported);
}

TEST_CASE("bf16 weights that f16 cannot hold are counted, not lost") {
  const TempFolder folder;
  folder.write("config.json", "{}");
  const std::array<float, 4> values{1e30f, 70000, -70000, 2};
  std::vector<std::uint16_t> bits;
  for (const float value : values) bits.push_back(f32_to_bf16(value));
  write_safetensors(folder / "model.safetensors",
                    {{"w", Tensor::from_bytes(DType::bf16, {4}, std::as_bytes(std::span(bits)))}});
  OpenOptions options;
  options.dtype = DType::f16;
  const ModelFiles files = open_model_files(folder.path(), options);
  const auto fault = fault_of([&] { files.tensor("w"); });
  REQUIRE(fault);
  CHECK(fault->code == ErrorCode::invalid_argument);
  CHECK(fault->mentions("\"w\""));
  CHECK(fault->mentions("become infinite: 3;"));
  options.dtype = std::nullopt;  // as in the file
  CHECK(open_model_files(folder.path(), options).tensor("w").to_floats()[3] == 2);
}

}  // namespace linnet
