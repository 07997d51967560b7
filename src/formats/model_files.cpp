#include "formats/model_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/error.h"
#include "formats/cast_weights.h"
#include "formats/coded_weights.h"
#include "formats/gguf_model.h"
#include "formats/model_card.h"
#include "formats/presence.h"
#include "text/tokenizer_json.h"

namespace fs = std::filesystem;

namespace linnet {
namespace {

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

Json parse_optional(const fs::path& path) {
  return is_there(path) ? Json::parse_file(path.string()) : Json();
}

Json parse_object(const fs::path& path) {
  Json value = Json::parse_file(path.string());
  if (!value.is_object()) {
    fail(ErrorCode::corrupt_file, fmt::format("{}: must be a JSON object, but is of type {}",
                                              path.string(), value.type_name()));
  }
  return value;
}

// In tokenizer_config.json: one template, or several with names, of which "default" is taken.
std::optional<std::string> template_from_config(const Json& tokenizer_config,
                                                const fs::path& path) {
  const Json* value = tokenizer_config.find("chat_template");
  if (value == nullptr || value->is_null()) return std::nullopt;
  if (value->is_string()) return value->as_string();
  if (value->is_array()) {
    for (const Json& item : value->as_array()) {
      const Json* name = item.find("name");
      const Json* text = item.find("template");
      if (name == nullptr || text == nullptr || !text->is_string()) continue;
      if (*name == Json("default")) return text->as_string();
    }
  }
  fail(ErrorCode::corrupt_file,
       fmt::format("{}: chat_template must be a string or a list of name and template with one "
                   "named \"default\"",
                   path.string()));
}

std::optional<std::string> folder_template(const fs::path& folder, const Json& tokenizer_config) {
  const fs::path own = folder / "chat_template.jinja";
  if (is_there(own)) return read_text_file(own);
  return template_from_config(tokenizer_config, folder / "tokenizer_config.json");
}

ModelFiles open_folder(const fs::path& folder, const OpenOptions& options) {
  ModelFiles files;
  files.path = folder;
  files.format = "safetensors";
  const fs::path config = folder / options.config_name;
  files.config_file = config.string();
  files.config = parse_object(config);
  files.generation_config = parse_optional(folder / "generation_config.json");
  files.tokenizer_config = parse_optional(folder / "tokenizer_config.json");
  files.special_tokens_map = parse_optional(folder / "special_tokens_map.json");
  files.chat_template = folder_template(folder, files.tokenizer_config);
  files.license = model_card_license(folder);
  files.weights = coded_weights(open_safetensors_weights(folder, options.access, files.notes),
                                files.config, files.config_file);
  files.access = options.access;
  if (files.weights == nullptr && is_there(folder / kPackedFile)) {
    files.packed = folder / kPackedFile;
    files.format = "packed";
  }
  files.read_tokenizer = [path = folder / "tokenizer.json"] {
    if (!is_there(path)) {
      fail(ErrorCode::not_found,
           fmt::format("{}: the tokenizer is missing; download it from the model's repository",
                       path.string()));
    }
    const auto file = FileMap::open(path);
    return tokenizer_data_from_json(as_text(file->bytes()), path.string());
  };
  return files;
}

ModelFiles open_gguf(const fs::path& path, FileAccess access) {
  const auto file = GgufFile::open(path, access);
  ModelFiles files;
  files.path = path;
  files.format = "gguf";
  files.config_file = path.string();
  files.config = gguf_config(*file);
  files.generation_config = gguf_generation_config(*file);
  files.tokenizer_config = gguf_tokenizer_config(*file);
  files.chat_template = gguf_chat_template(*file);
  files.license = gguf_license(*file);
  files.weights = gguf_weights(file);
  files.read_tokenizer = [file] { return gguf_tokenizer(*file); };
  files.gguf = file;
  return files;
}

std::vector<fs::path> gguf_files_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".gguf") found.push_back(entry.path());
  }
  if (error) {
    fail(ErrorCode::io,
         fmt::format("{}: cannot list the folder: {}", folder.string(), error.message()));
  }
  std::sort(found.begin(), found.end());
  return found;
}

[[noreturn]] void no_model(const fs::path& folder, const OpenOptions& options,
                           const std::vector<fs::path>& gguf) {
  if (gguf.empty()) {
    fail(ErrorCode::not_found,
         fmt::format("{}: not there; a model folder needs {} (or one .gguf file). Give the folder "
                     "that holds it, or download the model again",
                     (folder / options.config_name).string(), options.config_name));
  }
  std::string names;
  for (const fs::path& path : gguf)
    names += fmt::format("{} {}", names.empty() ? "" : ",", path.filename().string());
  fail(ErrorCode::invalid_argument,
       fmt::format("{}: holds {} GGUF files; give the path of one of them:{}", folder.string(),
                   gguf.size(), names));
}

ModelFiles open_as_it_is(const fs::path& path, const OpenOptions& options) {
  if (!is_there(path)) {
    fail(ErrorCode::not_found,
         fmt::format("{}: not there; give a model folder or a .gguf file", path.string()));
  }
  if (!is_folder(path) && path.extension() == ".json") {
    OpenOptions named = options;
    named.config_name = path.filename().string();
    return open_folder(path.has_parent_path() ? path.parent_path() : ".", named);
  }
  if (!is_folder(path)) return open_gguf(path, options.access);
  if (is_there(path / options.config_name)) return open_folder(path, options);
  const std::vector<fs::path> gguf = gguf_files_in(path);
  if (gguf.size() != 1) no_model(path, options, gguf);
  return open_gguf(gguf[0], options.access);
}

}  // namespace

std::vector<std::string> ModelFiles::tensor_names() const {
  std::vector<std::string> names;
  if (weights == nullptr) return names;
  for (const TensorInfo& info : weights->tensors()) names.push_back(info.name);
  return names;
}

const TensorInfo* ModelFiles::find(std::string_view name) const {
  return weights == nullptr ? nullptr : weights->find(name);
}

Tensor ModelFiles::tensor(std::string_view name) const {
  if (!packed.empty()) {
    fail(ErrorCode::unsupported,
         fmt::format("{}: packed weights are for the native lane only; take the model that they "
                     "were packed from",
                     packed.string()));
  }
  if (weights == nullptr) {
    fail(
        ErrorCode::not_found,
        fmt::format("{}: no weights: neither model.safetensors nor model.safetensors.index.json is "
                    "there; download them (other weight formats are not read)",
                    path.string()));
  }
  return weights->tensor(name);
}

std::string ModelFiles::describe(std::string_view name) const {
  if (weights == nullptr) return fmt::format("{}: tensor {}", path.string(), json_quote(name));
  return weights->describe(name);
}

TokenizerData ModelFiles::load_tokenizer_data() const try {
  return read_tokenizer();
} catch (const std::bad_alloc&) {
  fail(ErrorCode::out_of_memory, "no memory for the tokenizer of " + path.string());
}

std::shared_ptr<const Tokenizer> ModelFiles::load_tokenizer() const try {
  return std::make_shared<const Tokenizer>(read_tokenizer());
} catch (const std::bad_alloc&) {
  fail(ErrorCode::out_of_memory, "no memory for the tokenizer of " + path.string());
}

ModelFiles open_model_files(const fs::path& path, const OpenOptions& options) try {
  ModelFiles files = open_as_it_is(path, options);
  if (!options.dtype || files.weights == nullptr) return files;
  files.weights = cast_weights(std::move(files.weights), *options.dtype);
  return files;
} catch (const std::bad_alloc&) {
  fail(ErrorCode::out_of_memory, "no memory to open " + path.string());
}

}  // namespace linnet
