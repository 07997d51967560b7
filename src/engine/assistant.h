// Everything that belongs to one chat model on disk: weights, tokenizer, chat template, generation
// defaults and stop ids, opened together.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/generation.h"
#include "formats/model_files.h"
#include "model/model.h"
#include "text/chat.h"
#include "text/tokenizer.h"

namespace linnet {

struct Assistant {
  ModelFiles files;
  std::shared_ptr<const Model> model;
  std::shared_ptr<const Tokenizer> tokenizer;
  ChatTemplate chat_template;  // plain ChatML when the model has none
  bool has_own_template = true;
  GenerationConfig defaults;  // with stop_ids: the union of all three configs' eos ids

  static Assistant load(const std::filesystem::path& path, const OpenOptions& open = {},
                        const LoadOptions& load = {});
};

// The model's own template, or plain ChatML when it has none.
ChatTemplate open_chat_template(const ModelFiles& files);

// The union of the eos ids of config, generation config and tokenizer config: files disagree about
// what ends an answer, and a model may use any of these tokens. The tokenizer may be null.
std::vector<TokenId> find_stop_ids(const ModelFiles& files, const ModelConfig& config,
                                   const Tokenizer* tokenizer);

// Where a model name or path leads: an existing path as it is; "tiny" and "smollm2" to the model
// folders of the source tree, the install and the user's cache. Error{not_found} lists where it
// looked and what to do.
std::filesystem::path find_model(const std::string& name_or_path);
// The names that find_model knows, and those of what lies in its folders now; sorted. For advice.
std::vector<std::string> model_names();

}  // namespace linnet
