#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "formats/convert_plan.h"
#include "formats/gguf_fields.h"
#include "formats/gguf_model.h"
#include "formats/gguf_rows.h"

namespace linnet {
namespace {

constexpr std::uint32_t kQuantizationVersion = 2;  // of the blocks' layouts

// llama.cpp's number for a file by the type of most of its matrices (general.file_type).
struct FileType {
  DType dtype;
  std::uint32_t number;
};
constexpr FileType kFileTypes[] = {
    {DType::f32, 0},     {DType::f16, 1},     {DType::q4_0, 2},  {DType::q4_1, 3},
    {DType::q8_0, 7},    {DType::q5_0, 8},    {DType::q5_1, 9},  {DType::q2_k, 10},
    {DType::q3_k, 12},   {DType::q4_k, 15},   {DType::q5_k, 17}, {DType::q6_k, 18},
    {DType::iq4_nl, 25}, {DType::iq4_xs, 30}, {DType::bf16, 32}, {DType::mxfp4, 38}};

std::uint32_t file_type(const std::vector<OutgoingTensor>& tensors) {
  std::map<DType, std::int64_t> elements;
  for (const OutgoingTensor& tensor : tensors) {
    if (tensor.info.shape.size() < 2) continue;
    elements[tensor.info.dtype] += element_count(tensor.info.shape, tensor.info.name);
  }
  if (elements.empty()) return 0;
  const auto most = std::max_element(elements.begin(), elements.end(),
                                     [](auto& a, auto& b) { return a.second < b.second; });
  for (const FileType& type : kFileTypes) {
    if (type.dtype == most->first) return type.number;
  }
  return 0;
}

// Query and key rows go into GGUF's order, the rest as it is.
std::int64_t heads_to_reorder(std::string_view name, const Json& config) {
  const auto count = [&](std::string_view key) {
    return config.at(key).as_int_in(1, 1 << 20, key);
  };
  if (name.find(".self_attn.q_proj.") != std::string_view::npos)
    return count("num_attention_heads");
  if (name.find(".self_attn.k_proj.") == std::string_view::npos) return 0;
  const Json* kv_heads = config.find("num_key_value_heads");
  return count(kv_heads != nullptr && !kv_heads->is_null() ? "num_key_value_heads"
                                                           : "num_attention_heads");
}

OutgoingTensor outgoing(const TensorInfo& info, const ModelFiles& source,
                        const ConvertOptions& options, ConvertReport& report) {
  OutgoingTensor tensor;
  tensor.info = {gguf_name_of(info.name), type_in_gguf(info, options, report), info.shape};
  if (tensor.info.name == info.name) {
    fail(ErrorCode::unsupported,
         fmt::format("{}: GGUF has no name for it", source.describe(info.name)));
  }
  const std::int64_t heads = heads_to_reorder(info.name, source.config);
  tensor.load = [&source, name = info.name, heads] {
    const Tensor found = source.tensor(name);
    if (heads == 0) return found;
    return reorder_head_rows(found, heads, RowOrder::interleaved, source.describe(name));
  };
  return tensor;
}

std::vector<OutgoingTensor> gguf_tensors(const ModelFiles& source, const ConvertOptions& options,
                                         ConvertReport& report) {
  std::vector<OutgoingTensor> tensors;
  // What a GGUF source has of it is in the config by now, and comes out of it again.
  const std::vector<float> divisors = gguf_rope_divisors(source.config, source.config_file);
  if (!divisors.empty()) {
    const Tensor values =
        Tensor::from_values({static_cast<std::int64_t>(divisors.size())}, divisors);
    OutgoingTensor tensor;
    tensor.info = {"rope_freqs.weight", DType::f32, values.shape()};
    tensor.load = [values] { return values; };
    tensors.push_back(std::move(tensor));
  }
  for (const TensorInfo& info : tensors_to_convert(source, report)) {
    if (info.name != "rope_freqs.weight") {
      tensors.push_back(outgoing(info, source, options, report));
    }
  }
  return tensors;
}

// The id of a special token: by its text in tokenizer_config.json, else by its number elsewhere.
std::optional<TokenId> special_id(const ModelFiles& source, const GgufVocabulary& vocabulary,
                                  const std::string& token) {
  const Json* text = source.tokenizer_config.find(token + "_token");
  if (text != nullptr && text->is_object()) text = text->find("content");
  if (text != nullptr && text->is_string()) {
    const auto at =
        std::find(vocabulary.tokens.begin(), vocabulary.tokens.end(), text->as_string());
    if (at != vocabulary.tokens.end()) {
      return static_cast<TokenId>(at - vocabulary.tokens.begin());
    }
  }
  for (const Json* config : {&source.generation_config, &source.config}) {
    const Json* id = config->find(token + "_token_id");
    if (id != nullptr && id->is_array() && id->size() > 0) id = &id->as_array()[0];
    if (id != nullptr && id->is_int() && id->as_int() >= 0 &&
        static_cast<std::size_t>(id->as_int()) < vocabulary.tokens.size()) {
      return static_cast<TokenId>(id->as_int());
    }
  }
  return std::nullopt;
}

// Ids beside eos at which generation stops have two keys: eot, then eom.
void add_further_stops(const ModelFiles& source, const GgufVocabulary& vocabulary,
                       std::vector<GgufField>& fields, ConvertReport& report) {
  const Json* stops = source.generation_config.find("eos_token_id");
  if (stops == nullptr) return;
  const Json::Array ids = stops->is_array() ? stops->as_array() : Json::Array{*stops};
  std::vector<std::string> keys = {"tokenizer.ggml.eom_token_id", "tokenizer.ggml.eot_token_id"};
  for (const Json& value : ids) {
    const std::int64_t id = value.as_int_in(0, kMaxTokenId, "generation_config: eos_token_id");
    if (vocabulary.eos == id) continue;
    if (keys.empty()) {
      report.notes.push_back(fmt::format("the stop id {} left out: GGUF has room for three", id));
      continue;
    }
    fields.push_back({keys.back(), static_cast<std::uint32_t>(id)});
    keys.pop_back();
  }
}

std::size_t embedding_rows(const ModelFiles& source) {
  const TensorInfo* embedding = source.find("model.embed_tokens.weight");
  return embedding == nullptr || embedding->shape.empty()
             ? 0
             : static_cast<std::size_t>(embedding->shape[0]);
}

std::optional<GgufVocabulary> vocabulary_of(const ModelFiles& source,
                                            const std::string& architecture,
                                            ConvertReport& report) {
  if (source.gguf != nullptr && source.gguf->find("tokenizer.ggml.tokens") != nullptr) {
    return gguf_vocabulary(*source.gguf);
  }
  TokenizerData data;
  try {
    data = source.load_tokenizer_data();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;
    report.notes.push_back(fmt::format("no tokenizer: {}", error.what()));
    return std::nullopt;
  }
  for (const AddedToken& token : data.added) {
    if (!token.lstrip && !token.rstrip && !token.single_word) continue;
    report.notes.push_back(fmt::format(
        "the added token {} loses its flags for spaces and words; GGUF has none", token.content));
  }
  GgufVocabulary vocabulary = gguf_vocabulary_of(data, embedding_rows(source), architecture);
  for (auto [name, id] : {std::pair("bos", &vocabulary.bos), std::pair("eos", &vocabulary.eos),
                          std::pair("pad", &vocabulary.pad)}) {
    if (!*id) *id = special_id(source, vocabulary, name);
  }
  // What a reader will make of it, with all of its checks.
  tokenizer_data_from_gguf(vocabulary);
  return vocabulary;
}

std::string name_of(const std::filesystem::path& path) {
  const std::filesystem::path whole = path.lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).stem().string();
}

void add_general(const ModelFiles& source, std::vector<GgufField>& fields) {
  fields.push_back({"general.type", std::string("model")});
  std::string name = name_of(source.path);
  if (source.license) fields.push_back({"general.license", *source.license});
  for (const char* key : {"general.name", "general.description"}) {
    const GgufValue* value = source.gguf == nullptr ? nullptr : source.gguf->find(key);
    if (value != nullptr && value->type() == GgufType::string) {
      fields.push_back({key, std::string(value->as_string())});
    } else if (std::string_view(key) == "general.name") {
      fields.push_back({key, name});
    }
  }
}

}  // namespace

void convert_to_gguf(const ModelFiles& source, const std::filesystem::path& target,
                     const ConvertOptions& options, ConvertReport& report) {
  std::vector<GgufField> fields = gguf_architecture_fields(source.config, source.config_file);
  const std::vector<OutgoingTensor> tensors = gguf_tensors(source, options, report);
  add_general(source, fields);
  fields.push_back({"general.file_type", file_type(tensors)});
  fields.push_back({"general.quantization_version", kQuantizationVersion});
  const std::string architecture = std::get<std::string>(fields[0].value);
  if (const auto vocabulary = vocabulary_of(source, architecture, report)) {
    for (GgufField& field : gguf_tokenizer_fields(*vocabulary)) fields.push_back(std::move(field));
    add_further_stops(source, *vocabulary, fields, report);
  }
  for (GgufField& field : gguf_sampling_fields(source.generation_config)) {
    fields.push_back(std::move(field));
  }
  for (const std::string& name : lost_generation_fields(source.generation_config)) {
    report.notes.push_back(
        fmt::format("generation_config: {} left out: GGUF has no key for it", name));
  }
  if (source.chat_template) fields.push_back({"tokenizer.chat_template", *source.chat_template});
  report.tensors = tensors.size();
  report.bytes = total_bytes(tensors);
  TensorOutput output(report.bytes, options.output);
  write_gguf(target, fields, tensors, output);
  report.files = {target.filename().string()};
}

}  // namespace linnet
