#include "engine/assistant.h"

#include <utility>

#include "base/error.h"
#include "engine/stop_rules.h"

namespace linnet {
namespace {

// tokenizer_config.json names a special token by its text, or by an object that holds it.
std::string special_text(const ModelFiles& files, std::string_view name) {
  for (const Json* source : {&files.tokenizer_config, &files.special_tokens_map}) {
    const Json* value = source->find(name);
    if (value != nullptr && value->is_object()) value = value->find("content");
    if (value != nullptr && value->is_string()) return value->as_string();
  }
  return {};
}

GenerationConfig read_defaults(const ModelFiles& files) {
  try {
    Json config = files.generation_config;
    // How long prompt and answer are together is the caller's affair; files often have a 20 there,
    // beside max_new_tokens or without it.
    for (const char* name : {"max_length", "min_length"}) {
      if (config.is_object() && config.find(name) != nullptr) config.set(name, Json());
    }
    return GenerationConfig::from_json(config);
  } catch (const Error& error) {
    const bool is_folder = files.format == "safetensors";
    const auto source = is_folder ? files.path / "generation_config.json" : files.path;
    fail(ErrorCode::corrupt_file, source.string() + ": " + error.what());
  }
}

}  // namespace

ChatTemplate open_chat_template(const ModelFiles& files) {
  if (!files.chat_template) return ChatTemplate::chatml();
  return ChatTemplate(*files.chat_template, files.path.filename().string() + " chat template",
                      {special_text(files, "bos_token"), special_text(files, "eos_token")});
}

std::vector<TokenId> find_stop_ids(const ModelFiles& files, const ModelConfig& config,
                                   const Tokenizer* tokenizer) {
  std::vector<TokenId> ids = stop_id_union(config.eos, read_defaults(files).stop_ids);
  const std::string eos = special_text(files, "eos_token");
  if (tokenizer == nullptr || eos.empty()) return ids;
  if (const auto id = tokenizer->find(eos)) ids = stop_id_union(ids, {{*id}});
  return ids;
}

Assistant Assistant::load(const std::filesystem::path& path, const OpenOptions& open,
                          const LoadOptions& load) {
  ModelFiles files = open_model_files(path, open);
  // Small files first: a fault in them should not wait for the weights.
  GenerationConfig defaults = read_defaults(files);
  auto tokenizer = files.load_tokenizer();
  const bool has_own_template = files.chat_template.has_value();
  ChatTemplate chat_template = open_chat_template(files);
  auto model = Model::load(files, load);
  defaults.stop_ids = find_stop_ids(files, model->config(), tokenizer.get());
  return {std::move(files),         std::move(model), std::move(tokenizer),
          std::move(chat_template), has_own_template, std::move(defaults)};
}

}  // namespace linnet
