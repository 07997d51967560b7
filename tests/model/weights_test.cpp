#include "model/weights.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/random.h"
#include "formats/safetensors.h"
#include "model/build_program.h"
#include "tensor/blocks.h"

using namespace linnet;
namespace fs = std::filesystem;

namespace {

// A folder with a config and weights, both of which a test may change before opening it.
struct Folder {
  fs::path path;
  Json config = Json::parse(R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
    "vocab_size": 20, "hidden_size": 8, "intermediate_size": 12, "num_hidden_layers": 1,
    "num_attention_heads": 2, "max_position_embeddings": 64, "rope_theta": 100.0,
    "tie_word_embeddings": true})",
                            "config");
  std::vector<std::pair<std::string, Tensor>> tensors;

  Folder() {
    std::string name = (fs::temp_directory_path() / "linnet_test.XXXXXX").string();
    path = ::mkdtemp(name.data());
    RandomStream stream(3);
    for (const WeightSlot& slot : build_program(ModelConfig::from_json(config, "c")).weights) {
      std::vector<float> values(static_cast<std::size_t>(element_count(slot.shape, slot.name)));
      for (float& value : values) value = stream.next_uniform() - 0.5f;
      tensors.emplace_back("model." + slot.name, Tensor::from_values(slot.shape, values));
    }
  }
  ~Folder() { fs::remove_all(path); }

  std::shared_ptr<const Model> load(const LoadOptions& options = {}) const {
    write_file_atomically(path / "config.json", as_bytes(config.dump()));
    write_safetensors(path / "model.safetensors", tensors);
    return Model::load(open_model_files(path), options);
  }
  std::string fault() const {
    try {
      load();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
};

std::vector<float> logits(const Model& model) {
  KvCache cache = model.make_cache();
  const std::int32_t tokens[] = {3, 1, 4}, positions[] = {0, 1, 2}, selected[] = {0, 1, 2};
  const SequenceRows rows[] = {{&cache, 3}};
  Batch batch;
  batch.tokens = tokens, batch.positions = positions, batch.sequences = rows,
  batch.selected = selected;
  return model.run(batch);
}

Tensor encoded(const Tensor& tensor, DType dtype) {
  const Tensor out = Tensor::zeros(dtype, tensor.shape());
  encode(dtype, tensor.values<float>().data(), const_cast<std::byte*>(out.bytes().data()),
         tensor.elements());
  return out;
}

}  // namespace

TEST_CASE("missing, misshapen and unexpected tensors are all named in one message") {
  Folder folder;
  folder.tensors.erase(folder.tensors.begin() + 2);
  const std::string lost = "model.layers.0.self_attn.q_proj.weight";
  folder.tensors.back().second = Tensor::zeros(DType::f32, {9});
  folder.tensors.emplace_back("model.extra", Tensor::zeros(DType::f32, {1}));
  const std::string fault = folder.fault();
  for (const std::string part :
       {lost.c_str(), "missing", "model.norm.weight", "[8]", "[9]", "model.extra"}) {
    CHECK_MESSAGE(fault.find(part) != std::string::npos, fault);
  }
}

TEST_CASE("tensors that the model does not have are reported, not refused") {
  Folder folder;
  folder.tensors.emplace_back("model.extra", Tensor::zeros(DType::f32, {1}));
  CHECK(folder.load()->report().unexpected == std::vector<std::string>{"model.extra"});
}

TEST_CASE("a tied head uses the embedding; an own head its tensor") {
  Folder folder;
  const auto tied = logits(*folder.load());
  folder.config.set("tie_word_embeddings", false);
  CHECK(folder.fault().find("lm_head.weight") != std::string::npos);
  folder.tensors.emplace_back("lm_head.weight", folder.tensors[0].second);
  CHECK(logits(*folder.load()) == tied);
}

TEST_CASE("a base model without prefix gives hidden states") {
  Folder folder;
  folder.config.set("architectures", Json(Json::Array{"LlamaModel"}));
  for (auto& [name, tensor] : folder.tensors) name = name.substr(6);
  CHECK(logits(*folder.load()).size() == 3 * 8);
}

TEST_CASE("weights decoded at load and row by row give the same bits") {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    Folder folder;
    for (auto& [name, tensor] : folder.tensors) tensor = encoded(tensor, dtype);
    const auto at_load = folder.load();
    const auto by_row = folder.load({.decode_limit = 0});
    CHECK(at_load->report().memory_bytes > by_row->report().memory_bytes);
    CHECK(logits(*at_load) == logits(*by_row));
  }
}

TEST_CASE("integer tensors are no weights") {
  Folder folder;
  folder.tensors[1].second = Tensor::zeros(DType::i32, {8});
  CHECK(folder.fault().find("I32") != std::string::npos);
}

TEST_CASE("progress ends at 1") {
  Folder folder;
  std::vector<double> seen;
  LoadOptions options;
  options.on_progress = [&](double part) { seen.push_back(part); };
  folder.load(options);
  REQUIRE(!seen.empty());
  CHECK(std::is_sorted(seen.begin(), seen.end()));
  CHECK(seen.back() == 1.0);
}
