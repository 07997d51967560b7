// What a tokenizer is made of, whatever file it came from: plain data, checked by its reader.
// tokenizer.json fills it in tokenizer_json.h, GGUF metadata in tokenizer_gguf.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace linnet {

using TokenId = std::int32_t;

// A bound for ids from files: the largest vocabularies known are about a quarter of it.
inline constexpr TokenId kMaxTokenId = (1 << 21) - 1;
// A bound for merges from files: Llama 3 has a seventh part.
inline constexpr std::size_t kMaxMerges = (1 << 21) - 1;
// A bound for the text of one added token; looking for them costs at most this per byte of text.
inline constexpr std::size_t kMaxAddedTokenBytes = 1024;

struct AddedToken {
  std::string content;
  TokenId id = 0;
  bool special = false;
  bool lstrip = false;       // takes the white space before it
  bool rstrip = false;       // takes the white space behind it
  bool single_word = false;  // only where no word character touches it
  bool normalized = false;   // looked for after those that are not
};

enum class SplitRule {
  gpt2,
  llama3,
  smollm,  // every digit on its own, then gpt2
  qwen2,   // llama3 with single digits
};

// One merge; its place in the list is its rank.
struct Merge {
  TokenId left;
  TokenId right;
  TokenId result;
};

// What a post-processor makes of a text or a pair, item by item; by default nothing stands around.
struct RowTemplate {
  enum class Kind : std::uint8_t { first, second, id };
  struct Item {
    Kind kind = Kind::first;
    std::int32_t type = 0;  // the token type of these ids
    TokenId id = 0;         // of Kind::id
    bool operator==(const Item&) const = default;
  };
  std::vector<Item> single = {{}};
  std::vector<Item> pair = {{}, {Kind::second, 1, 0}};
};

struct TokenizerData {
  std::string name;  // of the source, for messages
  // The bytes of each token (the byte-level alphabet is undone). Empty: no such id, or an id that
  // is only an added token.
  std::vector<std::string> vocab;
  // Ids that have bytes in `vocab` for decoding, but that text never becomes.
  std::vector<TokenId> decode_only;
  std::vector<Merge> merges;
  std::vector<AddedToken> added;
  SplitRule split = SplitRule::llama3;
  bool ignore_merges = false;  // a piece that is in the vocabulary is taken whole
  bool normalize_nfc = false;  // text is brought to Unicode's form NFC before it is split
  // Ids that encode puts around the text when special tokens are asked for.
  std::vector<TokenId> before;
  std::vector<TokenId> after;
  // With the same ids as `before` and `after` for a single text, where the file has a template.
  std::optional<RowTemplate> row_template;
};

// One more than the largest id.
std::size_t token_count(const TokenizerData& data);

// Error{corrupt_file}: ids out of range, empty, long, broken or doubled added tokens, an added
// token whose id has other bytes in the vocabulary. Readers call it; so does Tokenizer.
void check_tokenizer_data(const TokenizerData& data);

// True for each id that text may become through the vocabulary.
std::vector<bool> encodable_ids(const TokenizerData& data);

}  // namespace linnet
