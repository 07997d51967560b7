#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/file_map.h"
#include "formats/coded_weights.h"
#include "formats/convert_plan.h"
#include "formats/gguf_fields.h"
#include "formats/gguf_model.h"
#include "formats/presence.h"
#include "formats/staged_folder.h"
#include "formats/tokenizer_json_writer.h"
#include "text/tokenizer_json.h"

namespace fs = std::filesystem;

namespace linnet {
namespace {

constexpr std::string_view kWeights = "model";
// Beside the weights, what a folder passes on byte for byte.
constexpr std::string_view kSmallFiles[] = {
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "README.md",
    "LICENSE",
};
constexpr std::uint64_t kMaxSmallFile = std::uint64_t{512} << 20;

// Writes the small files of a model into a folder and remembers their names.
class SmallFiles {
 public:
  SmallFiles(const fs::path& folder, ConvertReport& report) : folder_(folder), report_(report) {}
  void text(std::string_view name, std::string_view content) {
    write_file_atomically(folder_ / name, as_bytes(content));
    report_.files.emplace_back(name);
  }
  void json(std::string_view name, const Json& value) {
    if (!value.is_null()) text(name, value.dump({.indent = 2}) + "\n");
  }

 private:
  const fs::path& folder_;
  ConvertReport& report_;
};

std::string_view torch_name(DType dtype) {
  if (dtype == DType::bf16) return "bfloat16";
  if (dtype == DType::f16) return "float16";
  return dtype == DType::f64 ? "float64" : "float32";
}

void check_type(const ConvertOptions& options) {
  if (!options.dtype || dtype_info(*options.dtype).plain()) return;
  fail(ErrorCode::invalid_argument,
       fmt::format("safetensors cannot hold the type {}; take f32, bf16 or f16, or a target whose "
                   "name ends in .gguf",
                   dtype_name(*options.dtype)));
}

std::vector<OutgoingTensor> folder_tensors(const ModelFiles& source, const ConvertOptions& options,
                                           ConvertReport& report) {
  std::vector<OutgoingTensor> tensors;
  std::size_t decoded = 0;
  for (const TensorInfo& info : tensors_to_convert(source, report)) {
    // In the config by now.
    if (source.gguf != nullptr && info.name == "rope_freqs.weight") continue;
    const DType dtype = type_in_safetensors(info, source, options);
    decoded += dtype_info(info.dtype).plain() ? 0 : 1;
    OutgoingTensor& tensor = tensors.emplace_back();
    tensor.info.name = info.name;
    tensor.info.shape = info.shape;
    tensor.info.dtype = dtype;
    tensor.load = [&source, name = info.name] { return source.tensor(name); };
  }
  if (decoded > 0) {
    report.notes.push_back(fmt::format("{} tensors in blocks or codes were decoded", decoded));
  }
  return tensors;
}

// The config of the source with the type that the matrices have now.
Json config_for(const ModelFiles& source, const std::vector<OutgoingTensor>& tensors) {
  Json config = source.config;
  // It speaks of codes, and they were decoded.
  const std::vector<TensorInfo>& stored = source.weights->tensors();
  if (std::any_of(stored.begin(), stored.end(),
                  [](const TensorInfo& info) { return info.dtype == DType::coded; })) {
    drop_quantization(config);
  }
  for (const OutgoingTensor& tensor : tensors) {
    if (tensor.info.shape.size() != 2 || !is_floating(tensor.info.dtype)) continue;
    config.set(config.find("dtype") != nullptr ? "dtype" : "torch_dtype",
               torch_name(tensor.info.dtype));
    break;
  }
  return config;
}

// A folder that was opened with another config file passes that one on, as config.json.
void copy_small_files(const ModelFiles& source, SmallFiles& files) {
  for (const std::string_view name : kSmallFiles) {
    const fs::path path = source.path / name;
    if (is_there(path)) files.text(name, read_text_file(path, kMaxSmallFile));
  }
}

// The file must say the same to who reads it as the vocabulary that it was made from.
void check_same(const std::string& json, const GgufVocabulary& vocabulary) {
  const TokenizerData before = tokenizer_data_from_gguf(vocabulary);
  const TokenizerData after = tokenizer_data_from_json(json, "tokenizer.json");
  bool same = before.merges.size() == after.merges.size() &&
              before.added.size() == after.added.size() && before.split == after.split;
  for (std::size_t id = 0; same && id < before.vocab.size(); ++id) {
    const bool padding = before.vocab[id] == gguf_padding_token(id);
    const std::string empty;
    const std::string& now = id < after.vocab.size() ? after.vocab[id] : empty;
    // Of an added token the vocabulary may hold a copy.
    same = padding || before.vocab[id].empty() || before.vocab[id] == now;
  }
  if (same) return;
  fail(ErrorCode::unsupported,
       fmt::format("{}: its tokens cannot be written as a tokenizer.json (two of them are the same "
                   "text there, or one is not valid UTF-8)",
                   vocabulary.name));
}

void write_tokenizer(const ModelFiles& source, SmallFiles& files, ConvertReport& report) {
  if (source.gguf->find("tokenizer.ggml.tokens") == nullptr) {
    report.notes.push_back("no tokenizer: the GGUF file has none");
    return;
  }
  const GgufVocabulary vocabulary = gguf_vocabulary(*source.gguf);
  const std::string json = tokenizer_json_of(vocabulary);
  check_same(json, vocabulary);
  files.text("tokenizer.json", json);
  Json config = source.tokenizer_config;
  config.set("tokenizer_class", "PreTrainedTokenizerFast");
  config.set("clean_up_tokenization_spaces", false);
  if (const Json* positions = source.config.find("max_position_embeddings")) {
    config.set("model_max_length", *positions);
  }
  files.json("tokenizer_config.json", config);
}

}  // namespace

void write_small_files(const ModelFiles& source, const Json& config, const fs::path& folder,
                       ConvertReport& report) {
  SmallFiles files(folder, report);
  files.json("config.json", config);
  if (source.gguf == nullptr) return copy_small_files(source, files);
  files.json("generation_config.json", source.generation_config);
  write_tokenizer(source, files, report);
  if (source.chat_template) files.text("chat_template.jinja", *source.chat_template);
}

std::vector<std::string> weight_files(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    const bool is_safetensors =
        name.starts_with(kWeights) &&
        (name.ends_with(".safetensors") || name.ends_with(".safetensors.index.json"));
    if (is_safetensors || name == kPackedFile) names.push_back(name);
  }
  return names;
}

void convert_to_folder(const ModelFiles& source, const fs::path& target,
                       const ConvertOptions& options, ConvertReport& report) {
  check_type(options);
  std::vector<OutgoingTensor> tensors = folder_tensors(source, options, report);
  report.tensors = tensors.size();
  report.bytes = total_bytes(tensors);
  StagedFolder staged(target);
  write_small_files(source, config_for(source, tensors), staged.path(), report);
  TensorOutput output(report.bytes, options.output);
  for (std::string& name :
       write_safetensors_model(staged.path(), std::move(tensors), options.shard_bytes, output)) {
    report.files.push_back(std::move(name));
  }
  staged.commit(weight_files(target));
}

}  // namespace linnet
