// A model on disk, whatever it came in: a Hugging Face folder, a GGUF file, or a folder with one
// GGUF file in it. Configuration and names are in Hugging Face's terms in all cases. Cheap to copy;
// opening reads headers and small files only.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_map.h"
#include "base/json.h"
#include "formats/gguf.h"
#include "formats/weights.h"
#include "text/tokenizer.h"

namespace linnet {

// The weights of a folder as the native lane holds them (native/packed_model.h).
inline constexpr std::string_view kPackedFile = "model.linnet";

struct ModelFiles {
  std::filesystem::path path;  // as opened
  std::string format;          // "safetensors", "gguf" or "packed"
  std::string config_file;     // path of config.json, or of the GGUF file, for messages
  Json config;                 // an object
  Json generation_config;      // null when absent
  Json tokenizer_config;       // null when absent
  Json special_tokens_map;     // null when absent
  std::optional<std::string> chat_template;
  std::optional<std::string> license;      // by the model card, or the GGUF file
  std::shared_ptr<const Weights> weights;  // null when the folder has none
  std::filesystem::path packed;         // kPackedFile of a folder without other weights; or empty
  FileAccess access = FileAccess::map;  // as opened
  std::vector<std::string> notes;       // what was found and ignored, one sentence each

  std::vector<std::string> tensor_names() const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  const TensorInfo* find(std::string_view name) const;  // null when absent
  // Errors: not_found when there are no weights at all; corrupt_file without this tensor.
  Tensor tensor(std::string_view name) const;
  // The start of a message about a tensor, present or missing: file, name, type and shape.
  std::string describe(std::string_view name) const;
  // Made anew by each call. Error{not_found} when there is none.
  std::shared_ptr<const Tokenizer> load_tokenizer() const;

  // What the tokenizer is made of, read anew. Error{not_found} when there is none.
  TokenizerData load_tokenizer_data() const;

  std::function<TokenizerData()> read_tokenizer;
  std::shared_ptr<const GgufFile> gguf;  // the file itself; null for a folder
};

struct OpenOptions {
  FileAccess access = FileAccess::map;
  std::string config_name = "config.json";  // of another file in the folder
  std::optional<DType> dtype;               // none: each tensor as the file has it
};

// The path of a .json file stands for its folder with that file as the config. Errors: not_found,
// naming the file that is missing and what to do; corrupt_file; unsupported.
ModelFiles open_model_files(const std::filesystem::path& path, const OpenOptions& options = {});

}  // namespace linnet
