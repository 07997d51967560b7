#include "text/tokenizer_json.h"

#include <fmt/core.h>

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

void read_added_tokens(const JsonField& root, TokenizerData& data) {
  const auto list = root.find("added_tokens");
  if (!list) return;
  std::size_t index = 0;
  for (const dom::element value : list->array()) {
    const JsonField field = list->element(value, index++);
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

void read_vocab(const JsonField& vocab, TokenizerData& data) {
  const auto id_of = [&](const dom::key_value_pair& entry) {
    std::int64_t id = -1;
    if (entry.value.get(id) != simdjson::SUCCESS || id < 0 || id > kMaxTokenId) {
      vocab.member(entry.value, entry.key).integer(0, kMaxTokenId);
    }
    return static_cast<TokenId>(id);
  };
  TokenId last = -1;
  for (const auto& entry : vocab.object()) last = std::max(last, id_of(entry));
  data.vocab.resize(static_cast<std::size_t>(last) + 1);
  std::vector<bool> used(data.vocab.size());
  const AddedById added(data);
  for (const auto& entry : vocab.object()) {
    const TokenId id = id_of(entry);
    if (entry.key.empty()) vocab.refuse(ErrorCode::corrupt_file, "has an empty token");
    if (used[static_cast<std::size_t>(id)]) {
      vocab.refuse(ErrorCode::corrupt_file,
                   fmt::format("has the id {} twice, the second time for '{}'", id,
                               shown_in_message(entry.key)));
    }
    used[static_cast<std::size_t>(id)] = true;
    read_entry(entry.key, id, added, data);
  }
}

// ["left", "right"], or "left right" in older files.
void read_merges(const JsonField& merges, TokenizerData& data) {
  MergeReader reader(data);
  const dom::array list = merges.array();
  data.merges.reserve(list.size());
  std::size_t index = 0;
  for (const dom::element value : list) {
    std::string_view text;
    if (value.get(text) == simdjson::SUCCESS) {
      reader.add(text);
    } else {
      dom::array pair;
      std::array<std::string_view, 2> sides;
      if (value.get(pair) != simdjson::SUCCESS || pair.size() != 2 ||
          pair.at(0).get(sides[0]) != simdjson::SUCCESS ||
          pair.at(1).get(sides[1]) != simdjson::SUCCESS) {
        merges.element(value, index).refuse(ErrorCode::corrupt_file, "is not a pair of strings");
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

}  // namespace

TokenizerData tokenizer_data_from_json(std::string_view json, const std::string& name) {
  if (json.size() > kMaxFileBytes) {
    fail(ErrorCode::corrupt_file, fmt::format("{}: {} bytes, a tokenizer.json has at most {}", name,
                                              json.size(), kMaxFileBytes));
  }
  dom::parser parser(kMaxFileBytes);
  dom::element document;
  auto error = parser.allocate(std::max(json.size(), std::size_t{64}), kMaxDepth);
  if (error == simdjson::SUCCESS) error = parser.parse(json.data(), json.size()).get(document);
  if (error != simdjson::SUCCESS) {
    const bool memory = error == simdjson::MEMALLOC;
    fail(memory ? ErrorCode::out_of_memory : ErrorCode::corrupt_file,
         fmt::format("{}: not readable as JSON of at most {} levels: {}", name, kMaxDepth,
                     simdjson::error_message(error)));
  }
  const JsonField root(document, name, "");
  TokenizerData data;
  data.name = name;
  read_added_tokens(root, data);
  const JsonField model = root.at("model");
  check_model_options(model);
  data.ignore_merges = model.flag("ignore_merges", false);
  read_tokenizer_parts(root, data);
  read_vocab(model.at("vocab"), data);
  check_unknown_token(model, data);
  read_merges(model.at("merges"), data);
  check_tokenizer_data(data);
  return data;
}

}  // namespace linnet
