#include "text/tokenizer_gguf.h"

#include <fmt/core.h>

#include "base/error.h"
#include "base/utf8.h"
#include "text/byte_alphabet.h"
#include "text/merge_reader.h"

namespace linnet {
namespace {

// llama.cpp's numbers in tokenizer.ggml.token_type.
enum class GgufTokenType {
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6,
};

struct PreRule {
  std::string_view pre;
  SplitRule split;
  bool ignore_merges;
};

constexpr PreRule kPreRules[] = {
    {"smaug-bpe", SplitRule::llama3, true}, {"llama-bpe", SplitRule::llama3, true},
    {"llama3", SplitRule::llama3, true},    {"llama-v3", SplitRule::llama3, true},
    {"smollm", SplitRule::smollm, false},   {"gpt-2", SplitRule::gpt2, false},
    {"qwen2", SplitRule::qwen2, false},
};

std::string shown(std::string_view text) { return repair_utf8(text.substr(0, 80)); }

void read_rules(const GgufVocabulary& source, TokenizerData& data) {
  if (source.model != "gpt2") {
    fail(ErrorCode::unsupported,
         fmt::format("{}: tokenizer.ggml.model is '{}', expected 'gpt2' (byte-level BPE); if the "
                     "vocabulary is byte-level BPE, write the file again with 'gpt2'",
                     source.name, shown(source.model)));
  }
  std::string known;
  for (const PreRule& rule : kPreRules) {
    if (rule.pre == source.pre) {
      data.split = rule.split;
      data.ignore_merges = rule.ignore_merges;
      return;
    }
    known += fmt::format("{}'{}'", known.empty() ? "" : ", ", rule.pre);
  }
  fail(ErrorCode::unsupported,
       fmt::format("{}: tokenizer.ggml.pre is '{}', which says how text is split; known are {}",
                   source.name, shown(source.pre), known));
}

void add_token(const std::string& text, GgufTokenType type, TokenizerData& data) {
  const auto id = static_cast<TokenId>(data.vocab.size());
  data.vocab.emplace_back();
  switch (type) {
    case GgufTokenType::unknown:
    case GgufTokenType::control:
      data.added.push_back({.content = text, .id = id, .special = true});
      return;
    case GgufTokenType::user_defined:
      data.added.push_back({.content = text, .id = id});
      return;
    case GgufTokenType::unused:
      data.decode_only.push_back(id);
      break;
    case GgufTokenType::normal:
    case GgufTokenType::byte:
      break;
  }
  if (append_from_byte_alphabet(text, data.vocab.back())) return;
  // Such an entry can be decoded, but no text leads to it.
  data.vocab.back() = text;
  if (type != GgufTokenType::unused) data.decode_only.push_back(id);
}

void read_tokens(const GgufVocabulary& source, TokenizerData& data) {
  const std::size_t count = source.tokens.size();
  if (count == 0 || count > static_cast<std::size_t>(kMaxTokenId) + 1) {
    fail(ErrorCode::corrupt_file, fmt::format("{}: tokenizer.ggml.tokens has {} entries, expected "
                                              "1 to {}",
                                              source.name, count, kMaxTokenId + 1));
  }
  if (!source.types.empty() && source.types.size() != count) {
    fail(ErrorCode::corrupt_file,
         fmt::format("{}: tokenizer.ggml.token_type has {} entries, tokenizer.ggml.tokens {}",
                     source.name, source.types.size(), count));
  }
  data.vocab.reserve(count);
  for (std::size_t id = 0; id < count; ++id) {
    const int type = source.types.empty() ? 1 : source.types[id];
    if (type < 1 || type > 6) {
      fail(ErrorCode::corrupt_file,
           fmt::format("{}: tokenizer.ggml.token_type of id {} is {}, expected 1 to 6", source.name,
                       id, type));
    }
    add_token(source.tokens[id], static_cast<GgufTokenType>(type), data);
  }
}

// The id of a token that shall stand before or behind every text.
TokenId required(const std::optional<TokenId>& id, std::string_view field,
                 const GgufVocabulary& source) {
  if (id) return *id;
  fail(ErrorCode::corrupt_file,
       fmt::format("{}: tokenizer.ggml.add_{}_token is true, but tokenizer.ggml.{}_token_id is "
                   "missing",
                   source.name, field, field));
}

}  // namespace

std::vector<std::string_view> gguf_pre_names(SplitRule split, bool ignore_merges) {
  std::vector<std::string_view> names;
  for (const PreRule& rule : kPreRules) {
    if (rule.split == split && rule.ignore_merges == ignore_merges) names.push_back(rule.pre);
  }
  return names;
}

TokenizerData tokenizer_data_from_gguf(const GgufVocabulary& source) {
  TokenizerData data;
  data.name = source.name;
  read_rules(source, data);
  read_tokens(source, data);
  MergeReader reader(data);
  data.merges.reserve(source.merges.size());
  for (const std::string& merge : source.merges) reader.add(merge);
  if (source.add_bos) data.before.push_back(required(source.bos, "bos", source));
  if (source.add_eos) data.after.push_back(required(source.eos, "eos", source));
  check_tokenizer_data(data);
  return data;
}

}  // namespace linnet
