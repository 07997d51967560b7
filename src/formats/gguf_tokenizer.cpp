// The tokenizer and the chat template of a GGUF file.
#include <fmt/core.h>

#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "formats/gguf_model.h"
#include "text/tokenizer_gguf.h"

namespace linnet {
namespace {

constexpr std::string_view kTokens = "tokenizer.ggml.tokens";

std::optional<TokenId> id_of(const GgufFile& file, std::string_view key) {
  const GgufValue* value = file.find(key);
  if (value == nullptr) return std::nullopt;
  const std::int64_t id = value->as_int();
  if (id < 0 || id > kMaxTokenId) return std::nullopt;
  return static_cast<TokenId>(id);
}

bool flag_of(const GgufFile& file, std::string_view key) {
  const GgufValue* value = file.find(key);
  return value != nullptr && value->as_bool();
}

std::string text_of(const GgufFile& file, std::string_view key) {
  const GgufValue* value = file.find(key);
  return value == nullptr ? std::string() : std::string(value->as_string());
}

std::vector<std::string> texts_of(const GgufFile& file, std::string_view key) {
  std::vector<std::string> texts;
  if (const GgufValue* value = file.find(key)) {
    for (const std::string_view text : value->as_strings()) texts.emplace_back(text);
  }
  return texts;
}

std::vector<int> types_of(const GgufFile& file) {
  std::vector<int> types;
  if (const GgufValue* value = file.find("tokenizer.ggml.token_type")) {
    // Any number that no type has stands for those that do not fit; the reader refuses it.
    for (const std::int64_t type : value->as_ints()) {
      types.push_back(type >= 0 && type < 100 ? static_cast<int>(type) : 0);
    }
  }
  return types;
}

}  // namespace

GgufVocabulary gguf_vocabulary(const GgufFile& file) {
  if (file.find(kTokens) == nullptr) {
    fail(ErrorCode::not_found,
         fmt::format("{}: the file holds no tokenizer ({} is missing)", file.name(), kTokens));
  }
  GgufVocabulary vocabulary;
  vocabulary.name = file.name();
  vocabulary.model = text_of(file, "tokenizer.ggml.model");
  vocabulary.pre = text_of(file, "tokenizer.ggml.pre");
  vocabulary.tokens = texts_of(file, kTokens);
  vocabulary.types = types_of(file);
  vocabulary.merges = texts_of(file, "tokenizer.ggml.merges");
  vocabulary.bos = id_of(file, "tokenizer.ggml.bos_token_id");
  vocabulary.eos = id_of(file, "tokenizer.ggml.eos_token_id");
  vocabulary.pad = id_of(file, "tokenizer.ggml.padding_token_id");
  vocabulary.add_bos = flag_of(file, "tokenizer.ggml.add_bos_token");
  vocabulary.add_eos = flag_of(file, "tokenizer.ggml.add_eos_token");
  return vocabulary;
}

TokenizerData gguf_tokenizer(const GgufFile& file) {
  return tokenizer_data_from_gguf(gguf_vocabulary(file));
}

Json gguf_tokenizer_config(const GgufFile& file) {
  const GgufValue* value = file.find(kTokens);
  if (value == nullptr) return Json();
  const std::vector<std::string_view> tokens = value->as_strings();
  Json config = Json::object();
  const std::pair<std::string_view, std::string_view> specials[] = {
      {"bos_token", "tokenizer.ggml.bos_token_id"},
      {"eos_token", "tokenizer.ggml.eos_token_id"},
      {"pad_token", "tokenizer.ggml.padding_token_id"},
  };
  for (const auto& [name, key] : specials) {
    const auto id = id_of(file, key);
    if (!id || static_cast<std::size_t>(*id) >= tokens.size()) continue;
    config.set(name, repair_utf8(tokens[static_cast<std::size_t>(*id)]));
  }
  config.set("add_bos_token", flag_of(file, "tokenizer.ggml.add_bos_token"));
  config.set("add_eos_token", flag_of(file, "tokenizer.ggml.add_eos_token"));
  return config;
}

std::optional<std::string> gguf_chat_template(const GgufFile& file) {
  const GgufValue* value = file.find("tokenizer.chat_template");
  if (value == nullptr) return std::nullopt;
  return std::string(value->as_string());
}

std::optional<std::string> gguf_license(const GgufFile& file) {
  const GgufValue* value = file.find("general.license");
  if (value == nullptr || value->type() != GgufType::string) return std::nullopt;
  return repair_utf8(value->as_string());
}

}  // namespace linnet
