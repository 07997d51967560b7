#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/error.h"
#include "formats/gguf_fields.h"
#include "text/byte_alphabet.h"

namespace linnet {
namespace {

// llama.cpp's numbers.
constexpr int kNormal = 1, kControl = 3, kUserDefined = 4, kUnused = 5;

std::string pre_name(const TokenizerData& data, const std::string& prefer) {
  const std::vector<std::string_view> names = gguf_pre_names(data.split, data.ignore_merges);
  if (names.empty() || data.normalize_nfc) {
    fail(ErrorCode::unsupported,
         fmt::format("{}: {}, which tokenizer.ggml.pre of a GGUF file has no name for; convert to "
                     "a safetensors folder instead",
                     data.name,
                     data.normalize_nfc ? "the tokenizer normalizes to NFC"
                                        : "its split rule with or without ignore_merges"));
  }
  // The files of Llama and of SmolLM3 differ in the name alone.
  const bool llama =
      prefer == "llama" && std::find(names.begin(), names.end(), "llama-bpe") != names.end();
  return llama ? "llama-bpe" : std::string(names.front());
}

// One id around the text, or none; what else a post-processor adds has no place in the format.
std::optional<TokenId> one_of(const std::vector<TokenId>& ids, const TokenizerData& data) {
  if (ids.size() > 1) {
    fail(ErrorCode::unsupported,
         fmt::format("{}: it adds {} tokens at one side of a text; a GGUF file has room for one",
                     data.name, ids.size()));
  }
  return ids.empty() ? std::nullopt : std::optional(ids[0]);
}

}  // namespace

std::string gguf_padding_token(std::size_t id) { return fmt::format("[PAD{}]", id); }

GgufVocabulary gguf_vocabulary_of(const TokenizerData& data, std::size_t rows,
                                  const std::string& prefer) {
  GgufVocabulary out;
  out.name = data.name;
  out.model = "gpt2";
  out.pre = pre_name(data, prefer);
  const std::size_t count = std::max(rows, token_count(data));
  out.tokens.resize(count);
  out.types.assign(count, kNormal);
  std::vector<bool> raw(count);
  for (const TokenId id : data.decode_only) raw[static_cast<std::size_t>(id)] = true;
  for (std::size_t id = 0; id < count; ++id) {
    const bool known = id < data.vocab.size() && !data.vocab[id].empty();
    if (known) out.tokens[id] = raw[id] ? data.vocab[id] : to_byte_alphabet(data.vocab[id]);
    if (!known) {
      out.tokens[id] = gguf_padding_token(id);
      out.types[id] = kUnused;
    }
  }
  for (const AddedToken& token : data.added) {
    const auto id = static_cast<std::size_t>(token.id);
    out.tokens[id] = token.content;
    out.types[id] = token.special ? kControl : kUserDefined;
  }
  for (const Merge& merge : data.merges) {
    const auto text = [&](TokenId id) {
      return to_byte_alphabet(data.vocab[static_cast<std::size_t>(id)]);
    };
    out.merges.push_back(text(merge.left) + " " + text(merge.right));
  }
  out.bos = one_of(data.before, data);
  out.eos = one_of(data.after, data);
  out.add_bos = out.bos.has_value();
  out.add_eos = out.eos.has_value();
  return out;
}

std::vector<GgufField> gguf_tokenizer_fields(const GgufVocabulary& vocabulary) {
  std::vector<std::int32_t> types(vocabulary.types.begin(), vocabulary.types.end());
  std::vector<GgufField> fields = {
      {"tokenizer.ggml.model", vocabulary.model},
      {"tokenizer.ggml.pre", vocabulary.pre},
      {"tokenizer.ggml.tokens", vocabulary.tokens},
  };
  if (!types.empty()) fields.push_back({"tokenizer.ggml.token_type", std::move(types)});
  fields.push_back({"tokenizer.ggml.merges", vocabulary.merges});
  const auto add_id = [&](std::string key, const std::optional<TokenId>& id) {
    if (id) fields.push_back({std::move(key), static_cast<std::uint32_t>(*id)});
  };
  add_id("tokenizer.ggml.bos_token_id", vocabulary.bos);
  add_id("tokenizer.ggml.eos_token_id", vocabulary.eos);
  add_id("tokenizer.ggml.padding_token_id", vocabulary.pad);
  fields.push_back({"tokenizer.ggml.add_bos_token", vocabulary.add_bos});
  fields.push_back({"tokenizer.ggml.add_eos_token", vocabulary.add_eos});
  fields.push_back({"tokenizer.ggml.add_space_prefix", false});
  return fields;
}

}  // namespace linnet
