// A folder with a config and random weights, both of which a test may change before loading it.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "formats/safetensors.h"
#include "model/build_program.h"
#include "model/model.h"

namespace linnet::testing {

struct ModelFolder {
  std::filesystem::path path;
  Json config = Json::parse(R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
    "vocab_size": 20, "hidden_size": 8, "intermediate_size": 12, "num_hidden_layers": 1,
    "num_attention_heads": 2, "max_position_embeddings": 64, "rope_theta": 100.0,
    "tie_word_embeddings": true})",
                            "config");
  std::vector<std::pair<std::string, Tensor>> tensors;

  explicit ModelFolder(std::string_view prefix = "model.") {
    std::string name = (std::filesystem::temp_directory_path() / "linnet_test.XXXXXX").string();
    path = ::mkdtemp(name.data());
    make_tensors(prefix);
  }
  ~ModelFolder() { std::filesystem::remove_all(path); }
  ModelFolder(const ModelFolder&) = delete;
  ModelFolder& operator=(const ModelFolder&) = delete;

  // New random weights for what the config now asks for.
  void make_tensors(std::string_view prefix = "model.") {
    tensors.clear();
    RandomStream stream(3);
    for (const WeightSlot& slot : build_program(ModelConfig::from_json(config, "c")).weights) {
      std::vector<float> values(static_cast<std::size_t>(element_count(slot.shape, slot.name)));
      for (float& value : values) value = stream.next_uniform() - 0.5f;
      const std::string_view before = is_head_weight(slot.name) ? "" : prefix;
      tensors.emplace_back(std::string(before) + slot.name,
                           Tensor::from_values(slot.shape, values));
    }
  }
  void set(std::string_view key, std::string_view json) {
    config.set(key, Json::parse(json, std::string(key)));
  }

  std::shared_ptr<const Model> load(const LoadOptions& options = {}) const {
    write_file_atomically(path / "config.json", as_bytes(config.dump()));
    write_safetensors(path / "model.safetensors", tensors);
    return Model::load(open_model_files(path), options);
  }
  std::string fault(const LoadOptions& options = {}) const {
    try {
      load(options);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
};

}  // namespace linnet::testing
