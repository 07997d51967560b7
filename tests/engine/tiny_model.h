// The tiny chat model of the source tree for tests, opened once for each number of threads.
#pragma once

#include <filesystem>
#include <map>
#include <memory>

#include "formats/model_files.h"
#include "model/model.h"

namespace linnet {

inline const std::filesystem::path& tiny_folder() {
  static const std::filesystem::path folder = LINNET_SOURCE_DIR "/models/tiny-smollm3-chat";
  return folder;
}

inline std::shared_ptr<const Model> tiny_model(int threads = 1) {
  static std::map<int, std::shared_ptr<const Model>> models;
  auto& model = models[threads];
  if (!model) {
    LoadOptions options;
    options.threads = threads;
    model = Model::load(open_model_files(tiny_folder()), options);
  }
  return model;
}

inline std::shared_ptr<const Tokenizer> tiny_tokenizer() {
  static const auto tokenizer = open_model_files(tiny_folder()).load_tokenizer();
  return tokenizer;
}

}  // namespace linnet
