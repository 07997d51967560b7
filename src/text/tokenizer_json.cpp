#include "text/tokenizer_json.h"

#include <fmt/core.h>
#include <simdjson.h>

#include <algorithm>
#include <array>

#include "text/byte_alphabet.h"
#include "text/json_fields.h"
#include "text/merge_reader.h"
#include "text/tokenizer_json_parts.h"

namespace linnet {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kMaxFileBytes = std::size_t{512} << 20;
constexpr std::size_t kMaxDepth = 64;

Json to_json(dom::element value) {
  switch (value.type()) {
    case dom::element_type::ARRAY: {
      Json::Array list;
      for (const dom::element item : dom::array(value)) list.push_back(to_json(item));
      return list;
    }
    case dom::element_type::OBJECT: {
      Json::Object object;
      for (const auto& [key, item] : dom::object(value)) object.emplace_back(key, to_json(item));
      return object;
    }
    case dom::element_type::INT64:
      return std::int64_t(value);
    case dom::element_type::UINT64:
      return std::uint64_t(value);
    case dom::element_type::DOUBLE:
      return double(value);
    case dom::element_type::STRING:
      return std::string_view(value);
    case dom::element_type::BOOL:
      return bool(value);
    case dom::element_type::NULL_VALUE:
      break;
  }
  return nullptr;
}

// The file without its two large parts, which are read where they lie.
Json settings_of(dom::element document) {
  dom::object root;
  if (document.get(root) != simdjson::SUCCESS) return to_json(document);
  Json settings = Json::object();
  for (const char* key :
       {"added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder"}) {
    dom::element part;
    if (root.at_key(key).get(part) == simdjson::SUCCESS) settings.set(key, to_json(part));
  }
  dom::element model;
  if (root.at_key("model").get(model) != simdjson::SUCCESS) return settings;
  dom::object members;
  if (model.get(members) != simdjson::SUCCESS) {
    settings.set("model", to_json(model));
    return settings;
  }
  Json::Object options;
  for (const auto& [key, value] : members) {
    if (key != "vocab" && key != "merges") options.emplace_back(key, to_json(value));
  }
  settings.set("model", std::move(options));
  return settings;
}

void read_added_tokens(const JsonField& root, TokenizerData& data) {
  const auto list = root.find("added_tokens");
  if (!list) return;
  for (const JsonField& field : list->elements()) {
    AddedToken token;
    token.content = field.at("content").text();
    token.id = static_cast<TokenId>(field.at("id").integer(0, kMaxTokenId));
    token.special = field.flag("special", false);
    token.lstrip = field.flag("lstrip", false);
    token.rstrip = field.flag("rstrip", false);
    token.single_word = field.flag("single_word", false);
    token.normalized = field.flag("normalized", false);
    data.added.push_back(std::move(token));
  }
}

// The contents of added tokens by id, to tell a vocabulary's copy of them from a token.
class AddedById {
 public:
  explicit AddedById(const TokenizerData& data) : data_(data), sorted_(data.added.size()) {
    for (std::size_t i = 0; i < sorted_.size(); ++i) sorted_[i] = i;
    std::sort(sorted_.begin(), sorted_.end(),
              [&](std::size_t a, std::size_t b) { return data.added[a].id < data.added[b].id; });
  }
  bool is(TokenId id, std::string_view content) const {
    const auto at =
        std::lower_bound(sorted_.begin(), sorted_.end(), id,
                         [&](std::size_t i, TokenId wanted) { return data_.added[i].id < wanted; });
    return at != sorted_.end() && data_.added[*at].id == id && data_.added[*at].content == content;
  }

 private:
  const TokenizerData& data_;
  std::vector<std::size_t> sorted_;
};

// Undoes the byte alphabet of one entry. Entries outside of it (and copies of added tokens that
// would read as other bytes) are never reached from text.
void read_entry(std::string_view key, TokenId id, const AddedById& added, TokenizerData& data) {
  std::string& bytes = data.vocab[static_cast<std::size_t>(id)];
  const bool mapped = append_from_byte_alphabet(key, bytes);
  if (added.is(id, key)) {
    if (bytes != key) bytes.clear();
    return;
  }
  if (mapped) return;
  bytes = key;
  data.decode_only.push_back(id);
}

[[noreturn]] void refuse(const TokenizerData& data, std::string_view path, std::string_view why) {
  fail(ErrorCode::corrupt_file, fmt::format("{}: {} {}", data.name, path, why));
}

TokenId id_of(const dom::key_value_pair& entry, const TokenizerData& data) {
  std::int64_t id = -1;
  if (entry.value.get(id) == simdjson::SUCCESS && id >= 0 && id <= kMaxTokenId) {
    return static_cast<TokenId>(id);
  }
  const Json value = to_json(entry.value);
  const JsonField field(value, data.name, "model.vocab." + shown_in_message(entry.key));
  return static_cast<TokenId>(field.integer(0, kMaxTokenId));
}

// Files say how many entries they have before anything is made of them.
void check_count(const TokenizerData& data, std::string_view path, std::size_t count,
                 std::size_t limit) {
  if (count <= limit) return;
  refuse(data, path, fmt::format("has {} entries or more, at most {} are possible", count, limit));
}

void read_vocab(const dom::object& vocab, TokenizerData& data) {
  check_count(data, "model.vocab", vocab.size(), std::size_t{kMaxTokenId} + 1);
  TokenId last = -1;
  for (const auto& entry : vocab) last = std::max(last, id_of(entry, data));
  data.vocab.resize(static_cast<std::size_t>(last) + 1);
  std::vector<bool> used(data.vocab.size());
  const AddedById added(data);
  for (const auto& entry : vocab) {
    const TokenId id = id_of(entry, data);
    if (entry.key.empty()) refuse(data, "model.vocab", "has an empty token");
    if (used[static_cast<std::size_t>(id)]) {
      refuse(data, "model.vocab",
             fmt::format("has the id {} twice, the second time for '{}'", id,
                         shown_in_message(entry.key)));
    }
    used[static_cast<std::size_t>(id)] = true;
    read_entry(entry.key, id, added, data);
  }
}

// ["left", "right"], or "left right" in older files.
void read_merges(const dom::array& merges, TokenizerData& data) {
  check_count(data, "model.merges", merges.size(), kMaxMerges);
  MergeReader reader(data);
  data.merges.reserve(merges.size());
  std::size_t index = 0;
  for (const dom::element value : merges) {
    std::string_view text;
    if (value.get(text) == simdjson::SUCCESS) {
      reader.add(text);
    } else {
      dom::array pair;
      std::array<std::string_view, 2> sides;
      if (value.get(pair) != simdjson::SUCCESS || pair.size() != 2 ||
          pair.at(0).get(sides[0]) != simdjson::SUCCESS ||
          pair.at(1).get(sides[1]) != simdjson::SUCCESS) {
        refuse(data, fmt::format("model.merges[{}]", index), "is not a pair of strings");
      }
      reader.add(sides[0], sides[1]);
    }
    ++index;
  }
}

void check_model_options(const JsonField& model) {
  if (const auto type = model.text_or("type", "BPE"); type != "BPE") {
    model.refuse(ErrorCode::unsupported,
                 fmt::format("has the type '{}', only BPE is known", shown_in_message(type)));
  }
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!model.text_or(key, "").empty()) {
      model.at(key).refuse(ErrorCode::unsupported, "is not empty; byte-level BPE has none");
    }
  }
  if (model.flag("byte_fallback", false)) {
    model.at("byte_fallback").refuse(ErrorCode::unsupported, "is true; byte-level BPE needs none");
  }
  if (const auto dropout = model.find("dropout")) {
    dropout->refuse(ErrorCode::unsupported, "is set; ids would be random");
  }
}

// An unknown token stands for bytes without an entry; we know none, so all bytes must have one.
void check_unknown_token(const JsonField& model, const TokenizerData& data) {
  const auto unknown = model.find("unk_token");
  if (!unknown) return;
  std::array<bool, 256> seen{};
  for (const std::string& token : data.vocab) {
    if (token.size() == 1) seen[static_cast<unsigned char>(token[0])] = true;
  }
  if (std::find(seen.begin(), seen.end(), false) == seen.end()) return;
  unknown->refuse(ErrorCode::unsupported, "is set while some bytes have no entry in model.vocab");
}

// Points into the parser.
dom::element parsed(std::string_view json, const std::string& name, dom::parser& parser) {
  if (json.size() > kMaxFileBytes) {
    fail(ErrorCode::corrupt_file, fmt::format("{}: {} bytes, a tokenizer.json has at most {}", name,
                                              json.size(), kMaxFileBytes));
  }
  if (json.empty()) fail(ErrorCode::corrupt_file, name + ": the file is empty");
  dom::element document;
  auto error = parser.allocate(std::max(json.size(), std::size_t{64}), kMaxDepth);
  if (error == simdjson::SUCCESS) error = parser.parse(json.data(), json.size()).get(document);
  if (error == simdjson::SUCCESS) return document;
  fail(error == simdjson::MEMALLOC ? ErrorCode::out_of_memory : ErrorCode::corrupt_file,
       fmt::format("{}: not readable as JSON of at most {} levels: {}", name, kMaxDepth,
                   simdjson::error_message(error)));
}

}  // namespace

TokenizerData tokenizer_data_from_json(std::string_view json, const std::string& name) {
  dom::parser parser(kMaxFileBytes);
  const dom::element document = parsed(json, name, parser);
  TokenizerData data;
  data.name = name;
  const Json settings = settings_of(document);
  const JsonField root(settings, name, "");
  read_added_tokens(root, data);
  const JsonField model = root.at("model");
  check_model_options(model);
  data.ignore_merges = model.flag("ignore_merges", false);
  read_tokenizer_parts(root, data);
  dom::object vocab;
  if (document["model"]["vocab"].get(vocab) != simdjson::SUCCESS) {
    refuse(data, "model.vocab", "is missing or not an object");
  }
  read_vocab(vocab, data);
  check_unknown_token(model, data);
  dom::array merges;
  if (document["model"]["merges"].get(merges) != simdjson::SUCCESS) {
    refuse(data, "model.merges", "is missing or not an array");
  }
  read_merges(merges, data);
  check_tokenizer_data(data);
  return data;
}

}  // namespace linnet
