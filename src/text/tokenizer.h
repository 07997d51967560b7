// Byte-level BPE: text to ids and back. Decoding is exact, nothing is cleaned up.
// A tokenizer never changes after construction; any number of threads may use it at once.
// Text is first cut at added tokens, each stretch between is split and merged on its own; no space
// is added or eaten. Bytes without an entry in the vocabulary (some small ones lack a few) give no
// id and are lost.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/bpe_scratch_pool.h"
#include "text/tokenizer_data.h"

namespace linnet {

enum class InvalidUtf8 {
  refuse,  // Error{invalid_argument} that names the offset of the first bad byte
  repair,  // encode the text that repair_utf8 gives; offsets count in that text
};

struct EncodeOptions {
  SpecialParsing parsing = SpecialParsing::all;
  // Puts the ids of the post-processor around the text. Rendered chat text has them already.
  bool add_special_tokens = false;
  InvalidUtf8 invalid_utf8 = InvalidUtf8::refuse;
};

struct DecodeOptions {
  bool skip_special = false;
  bool clean_up_spaces = false;  // see clean_up_spaces.h
};

// The bytes of the text that a token stands for. A token that holds part of a character has the
// range of the whole character.
struct TokenSpan {
  std::size_t begin;
  std::size_t end;
  bool operator==(const TokenSpan&) const = default;
};

struct Encoding {
  std::vector<TokenId> ids;
  std::vector<TokenSpan> spans;  // one per id; empty ranges for ids that were added around
};

class Tokenizer {
 public:
  // Checks the data once more: ids in range, no token twice. Error{corrupt_file}.
  explicit Tokenizer(TokenizerData data);
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  std::vector<TokenId> encode(std::string_view text, EncodeOptions options = {}) const;
  // Replaces the content of `ids`, whose memory is used again.
  void encode_to(std::string_view text, EncodeOptions options, std::vector<TokenId>& ids) const;
  // Where the tokenizer normalizes (NFC), spans count in the normalized text.
  Encoding encode_with_offsets(std::string_view text, EncodeOptions options = {}) const;

  // Valid UTF-8: wrong or cut characters are U+FFFD. Nothing else is changed unless asked for.
  std::string decode(std::span<const TokenId> ids, DecodeOptions options) const;
  std::string decode(std::span<const TokenId> ids, bool skip_special) const;
  std::string decode_bytes(std::span<const TokenId> ids, bool skip_special) const;

  // Error{invalid_argument} when the id is not in [0, size()). Empty for ids without a token.
  std::string_view token_bytes(TokenId id) const;
  // The id of an added token's content, or of a token with exactly these bytes.
  std::optional<TokenId> find(std::string_view content) const;
  bool is_special(TokenId id) const { return token_kind(id) == TokenKind::special; }
  bool is_added(TokenId id) const { return token_kind(id) != TokenKind::ordinary; }
  // One more than the largest id.
  TokenId size() const { return static_cast<TokenId>(tokens_.size()); }
  const std::vector<AddedToken>& added_tokens() const { return added_.tokens(); }
  const std::string& name() const { return name_; }
  // What the post-processor puts around a text or a pair.
  const RowTemplate& row_template() const { return row_template_; }

 private:
  enum class TokenKind : std::uint8_t { ordinary, added, special };
  struct Prepared {};  // the data is checked and ready
  Tokenizer(TokenizerData&& data, Prepared);
  // The id as an index; the error of token_bytes.
  std::size_t checked(TokenId id) const;
  TokenKind token_kind(TokenId id) const { return kinds_[checked(id)]; }
  void encode_into(std::string_view text, EncodeOptions options, Encoding& out,
                   bool with_spans) const;
  // `spans` may be null.
  void encode_part(std::string_view text, TextPart part, BpeScratch& scratch, IdSink& out,
                   std::vector<TokenSpan>* spans) const;
  // Spans of ids that came from one piece of the text.
  void add_spans(std::string_view text, TokenSpan piece, std::span<const TokenId> ids,
                 std::vector<TokenSpan>& out) const;

  std::string name_;
  SplitRule split_;
  bool normalize_nfc_;
  RowTemplate row_template_;
  std::vector<TokenId> before_;
  std::vector<TokenId> after_;
  Bpe bpe_;                          // looks into the strings of tokens_
  std::vector<std::string> tokens_;  // index = id; added tokens with their content
  std::vector<TokenKind> kinds_;
  AddedTokens added_;
  mutable BpeScratchPool scratch_;
};

std::shared_ptr<const Tokenizer> load_tokenizer_json(const std::filesystem::path& path);

}  // namespace linnet
