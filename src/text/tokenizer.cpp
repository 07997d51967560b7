#include "text/tokenizer.h"

#include <fmt/core.h>
#include <simdjson.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/utf8.h"
#include "text/byte_alphabet.h"
#include "text/clean_up_spaces.h"
#include "text/normalize.h"
#include "text/pre_tokenizer.h"

namespace linnet {
namespace {

bool continues(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
}

// Widened to whole characters.
TokenSpan whole_characters(std::string_view text, std::size_t begin, std::size_t end) {
  while (begin > 0 && continues(text, begin)) --begin;
  while (continues(text, end)) ++end;
  return {begin, end};
}

// The reference counts a piece's tokens in bytes of the piece as the byte-level alphabet writes it.
// Where bytes have no token its ranges slide. For each written byte: the byte of the piece.
std::vector<std::size_t> written_bytes(std::string_view piece) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < piece.size(); ++i) {
    const int width = byte_alphabet_width(static_cast<unsigned char>(piece[i]));
    out.insert(out.end(), static_cast<std::size_t>(width), i);
  }
  return out;
}

std::size_t written_size(std::string_view bytes) {
  std::size_t size = 0;
  for (const char byte : bytes) {
    size += static_cast<std::size_t>(byte_alphabet_width(static_cast<unsigned char>(byte)));
  }
  return size;
}

// No plain text becomes a control token, whatever the vocabulary and the merges say.
void make_specials_unreachable(TokenizerData& data) {
  std::vector<bool> special(data.vocab.size());
  for (const AddedToken& token : data.added) {
    // One byte alone must stay, or text would be lost.
    if (!token.special || token.content.size() < 2) continue;
    special[static_cast<std::size_t>(token.id)] = true;
    data.decode_only.push_back(token.id);
  }
  std::erase_if(data.merges, [&](const Merge& merge) {
    return special[static_cast<std::size_t>(merge.result)];
  });
}

// That of the file, or one made of the ids before and after; a pair is one text behind the other.
RowTemplate row_template_of(const TokenizerData& data) {
  if (data.row_template) return *data.row_template;
  RowTemplate around;
  for (auto* items : {&around.single, &around.pair}) {
    const auto item_of = [](TokenId id) { return RowTemplate::Item{RowTemplate::Kind::id, 0, id}; };
    std::vector<RowTemplate::Item> all;
    for (const TokenId id : data.before) all.push_back(item_of(id));
    all.insert(all.end(), items->begin(), items->end());
    for (const TokenId id : data.after) all.push_back(item_of(id));
    *items = std::move(all);
  }
  return around;
}

TokenizerData prepared(TokenizerData data) {
  check_tokenizer_data(data);
  data.vocab.resize(token_count(data));
  make_specials_unreachable(data);
  return data;
}

}  // namespace

Tokenizer::Tokenizer(TokenizerData data) : Tokenizer(prepared(std::move(data)), Prepared{}) {}

Tokenizer::Tokenizer(TokenizerData&& data, Prepared)
    : name_(std::move(data.name)),
      split_(data.split),
      normalize_nfc_(data.normalize_nfc),
      row_template_(row_template_of(data)),
      before_(std::move(data.before)),
      after_(std::move(data.after)),
      bpe_(data),
      tokens_(std::move(data.vocab)),
      kinds_(tokens_.size(), TokenKind::ordinary),
      added_(std::move(data.added)) {
  for (const AddedToken& token : added_.tokens()) {
    const auto id = static_cast<std::size_t>(token.id);
    // A content that the vocabulary has too is the same bytes and keeps its place.
    if (tokens_[id].empty()) tokens_[id] = token.content;
    kinds_[id] = token.special ? TokenKind::special : TokenKind::added;
  }
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  Encoding out;
  encode_into(text, options, out, false);
  return std::move(out.ids);
}

void Tokenizer::encode_to(std::string_view text, EncodeOptions options,
                          std::vector<TokenId>& ids) const {
  Encoding out;
  out.ids = std::move(ids);
  out.ids.clear();
  encode_into(text, options, out, false);
  ids = std::move(out.ids);
}

Encoding Tokenizer::encode_with_offsets(std::string_view text, EncodeOptions options) const {
  Encoding out;
  encode_into(text, options, out, true);
  return out;
}

void Tokenizer::encode_into(std::string_view text, EncodeOptions options, Encoding& out,
                            bool with_spans) const {
  std::string changed;
  if (!simdjson::validate_utf8(text.data(), text.size())) {
    if (options.invalid_utf8 == InvalidUtf8::refuse) {
      fail(ErrorCode::invalid_argument, fmt::format("text to encode is not valid UTF-8 at byte {}",
                                                    find_invalid_utf8(text).value_or(0)));
    }
    text = changed = repair_utf8(text);
  }
  if (normalize_nfc_) text = changed = to_nfc(text);
  // English has about four bytes a token; other text makes the vector grow once.
  IdSink ids(out.ids, text.size() / 4 + before_.size() + after_.size() + 32);
  std::vector<TokenSpan>* spans = with_spans ? &out.spans : nullptr;
  const auto add = [&](TokenId id, TokenSpan span) {
    ids.push(id);
    if (with_spans) spans->push_back(span);
  };
  if (options.add_special_tokens) {
    for (const TokenId id : before_) add(id, {0, 0});
  }
  const BpeScratchPool::Lease scratch(scratch_);
  for (const TextPart& part : added_.split(text, options.parsing)) {
    if (part.id < 0) {
      encode_part(text, part, *scratch, ids, spans);
    } else {
      add(part.id, {part.begin, part.end});
    }
  }
  if (options.add_special_tokens) {
    for (const TokenId id : after_) add(id, {text.size(), text.size()});
  }
  ids.finish();
}

void Tokenizer::encode_part(std::string_view text, TextPart part, BpeScratch& scratch, IdSink& out,
                            std::vector<TokenSpan>* spans) const {
  constexpr std::size_t kBatch = 128;
  std::array<const char*, kBatch> ends;
  std::array<std::size_t, kBatch> id_ends;
  const char* const text_end = text.data() + text.size();
  const char* begin = text.data() + part.begin;
  PieceCursor pieces(split_, text.substr(part.begin, part.end - part.begin));
  while (!pieces.done()) {
    const std::span<const char* const> found(ends.data(), pieces.next_ends(ends));
    std::size_t first = out.size();
    bpe_.encode({begin, found, text_end}, scratch, out, id_ends);
    for (std::size_t i = 0; spans != nullptr && i < found.size(); ++i) {
      const TokenSpan piece{static_cast<std::size_t>(begin - text.data()),
                            static_cast<std::size_t>(found[i] - text.data())};
      add_spans(text, piece, {out.data() + first, id_ends[i] - first}, *spans);
      first = id_ends[i];
      begin = found[i];
    }
    begin = found.back();
  }
}

void Tokenizer::add_spans(std::string_view text, TokenSpan piece, std::span<const TokenId> ids,
                          std::vector<TokenSpan>& out) const {
  const std::string_view bytes_of_piece = text.substr(piece.begin, piece.end - piece.begin);
  const bool lost = bpe_.loses(bytes_of_piece);
  if (ids.size() == 1 && !lost) return out.push_back(piece);
  std::vector<std::size_t> written;
  if (lost) written = written_bytes(bytes_of_piece);
  std::size_t at = 0;
  for (const TokenId id : ids) {
    const std::string_view bytes = tokens_[static_cast<std::size_t>(id)];
    const std::size_t end = at + (lost ? written_size(bytes) : bytes.size());
    const std::size_t from = lost ? written[at] : at;
    const std::size_t to = lost ? written[end - 1] + 1 : end;
    out.push_back(whole_characters(text, piece.begin + from, piece.begin + to));
    at = end;
  }
}

std::string Tokenizer::decode(std::span<const TokenId> ids, DecodeOptions options) const {
  const std::string text = decode(ids, options.skip_special);
  return options.clean_up_spaces ? clean_up_spaces(text) : text;
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
  std::string bytes = decode_bytes(ids, skip_special);
  return simdjson::validate_utf8(bytes.data(), bytes.size()) ? bytes : repair_utf8(bytes);
}

std::string Tokenizer::decode_bytes(std::span<const TokenId> ids, bool skip_special) const {
  std::string out;
  out.reserve(4 * ids.size());
  for (const TokenId id : ids) {
    const std::size_t index = checked(id);
    if (skip_special && kinds_[index] == TokenKind::special) continue;
    out += tokens_[index];
  }
  return out;
}

std::string_view Tokenizer::token_bytes(TokenId id) const { return tokens_[checked(id)]; }

std::optional<TokenId> Tokenizer::find(std::string_view content) const {
  if (const AddedToken* token = added_.find(content)) return token->id;
  const TokenId id = bpe_.find(content);
  if (id == TokenTable::kNone) return std::nullopt;
  return id;
}

std::size_t Tokenizer::checked(TokenId id) const {
  if (id < 0 || id >= size()) {
    fail(ErrorCode::invalid_argument,
         fmt::format("token id {} is outside of the vocabulary, which has {} ids (0 to {})", id,
                     size(), size() - 1));
  }
  return static_cast<std::size_t>(id);
}

}  // namespace linnet
