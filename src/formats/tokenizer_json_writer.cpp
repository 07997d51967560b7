#include "formats/tokenizer_json_writer.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/json.h"
#include "formats/gguf_fields.h"
#include "text/tokenizer_json_parts.h"

namespace linnet {
namespace {

constexpr int kUnused = 5;

Json object(Json::Object members) { return Json(std::move(members)); }

Json byte_level(bool use_regex) {
  return object({{"type", "ByteLevel"},
                 {"add_prefix_space", false},
                 {"trim_offsets", true},
                 {"use_regex", use_regex}});
}

Json pre_tokenizer(SplitRule split) {
  if (split == SplitRule::gpt2) return byte_level(true);
  Json first, second;
  if (split == SplitRule::smollm) {
    first = object({{"type", "Digits"}, {"individual_digits", true}});
    second = byte_level(true);
  } else {
    first = object({{"type", "Split"},
                    {"pattern", object({{"Regex", split_expression(split)}})},
                    {"behavior", "Isolated"},
                    {"invert", false}});
    second = byte_level(false);
  }
  return object(
      {{"type", "Sequence"}, {"pretokenizers", Json::Array{std::move(first), std::move(second)}}});
}

// Puts bos before and eos behind a text, and of a pair behind each.
class TemplateWriter {
 public:
  explicit TemplateWriter(const GgufVocabulary& vocabulary) : vocabulary_(vocabulary) {}

  Json write() {
    Json single = Json::array(), pair = Json::array();
    add_text("A", 0, single);
    add_text("A", 0, pair);
    add_text("B", 1, pair);
    return object({{"type", "TemplateProcessing"},
                   {"single", std::move(single)},
                   {"pair", std::move(pair)},
                   {"special_tokens", std::move(specials_)}});
  }

 private:
  void add_text(const char* id, int type, Json& items) {
    if (vocabulary_.add_bos) add_special(*vocabulary_.bos, type, items);
    items.push_back(object({{"Sequence", object({{"id", id}, {"type_id", type}})}}));
    if (vocabulary_.add_eos) add_special(*vocabulary_.eos, type, items);
  }

  void add_special(TokenId id, int type, Json& items) {
    const std::string& text = vocabulary_.tokens[static_cast<std::size_t>(id)];
    items.push_back(object({{"SpecialToken", object({{"id", text}, {"type_id", type}})}}));
    specials_.set(text, object({{"id", text},
                                {"ids", Json::Array{Json(id)}},
                                {"tokens", Json::Array{Json(text)}}}));
  }

  const GgufVocabulary& vocabulary_;
  Json specials_ = Json::object();
};

Json post_processor(const GgufVocabulary& vocabulary) {
  Json bytes = byte_level(true);
  if (!vocabulary.add_bos && !vocabulary.add_eos) return bytes;
  return object(
      {{"type", "Sequence"},
       {"processors", Json::Array{std::move(bytes), TemplateWriter(vocabulary).write()}}});
}

Json added_tokens(const TokenizerData& data) {
  Json::Array list;
  for (const AddedToken& token : data.added) {
    list.push_back(object({{"id", token.id},
                           {"content", token.content},
                           {"single_word", false},
                           {"lstrip", false},
                           {"rstrip", false},
                           {"normalized", false},
                           {"special", token.special}}));
  }
  return list;
}

// The tokenizers library numbers added tokens that are not in the vocabulary on from its size, in
// the order of the list. They may stay outside only where that gives the right ids.
bool added_tokens_follow(std::size_t entries, const TokenizerData& data,
                         const std::vector<bool>& added) {
  for (std::size_t id = 0; id < entries; ++id) {
    if (added[id]) return false;
  }
  for (std::size_t i = 0; i < data.added.size(); ++i) {
    if (static_cast<std::size_t>(data.added[i].id) != entries + i) return false;
  }
  return true;
}

Json vocabulary_map(const GgufVocabulary& vocabulary, const TokenizerData& data) {
  const std::size_t count = vocabulary.tokens.size();
  std::vector<bool> added(count), kept(count);
  for (const AddedToken& token : data.added) added[static_cast<std::size_t>(token.id)] = true;
  std::size_t entries = 0;
  for (std::size_t id = 0; id < count; ++id) {
    const bool padding = !vocabulary.types.empty() && vocabulary.types[id] == kUnused &&
                         vocabulary.tokens[id] == gguf_padding_token(id);
    kept[id] = !padding && !added[id];
    entries += kept[id] ? 1 : 0;
  }
  const bool with_added = !added_tokens_follow(entries, data, added);
  Json::Object map;
  map.reserve(count);
  for (std::size_t id = 0; id < count; ++id) {
    if (kept[id] || (with_added && added[id])) map.emplace_back(vocabulary.tokens[id], id);
  }
  return map;
}

Json merge_list(const GgufVocabulary& vocabulary) {
  Json::Array list;
  list.reserve(vocabulary.merges.size());
  for (const std::string& merge : vocabulary.merges) {
    const std::size_t space = merge.find(' ');
    list.push_back(Json::Array{Json(merge.substr(0, space)), Json(merge.substr(space + 1))});
  }
  return list;
}

}  // namespace

std::string tokenizer_json_of(const GgufVocabulary& vocabulary) {
  const TokenizerData data = tokenizer_data_from_gguf(vocabulary);
  Json model = object({{"type", "BPE"},
                       {"dropout", nullptr},
                       {"unk_token", nullptr},
                       {"continuing_subword_prefix", nullptr},
                       {"end_of_word_suffix", nullptr},
                       {"fuse_unk", false},
                       {"byte_fallback", false},
                       {"ignore_merges", data.ignore_merges},
                       {"vocab", vocabulary_map(vocabulary, data)},
                       {"merges", merge_list(vocabulary)}});
  const Json file = object({{"version", "1.0"},
                            {"truncation", nullptr},
                            {"padding", nullptr},
                            {"added_tokens", added_tokens(data)},
                            {"normalizer", nullptr},
                            {"pre_tokenizer", pre_tokenizer(data.split)},
                            {"post_processor", post_processor(vocabulary)},
                            {"decoder", object({{"type", "ByteLevel"},
                                                {"add_prefix_space", true},
                                                {"trim_offsets", true},
                                                {"use_regex", true}})},
                            {"model", std::move(model)}});
  return file.dump({.indent = 2}) + "\n";
}

}  // namespace linnet
