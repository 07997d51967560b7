#include "text/added_tokens.h"

#include <algorithm>

#include "base/utf8.h"
#include "text/unicode_classes.h"

namespace linnet {
namespace {

// The last character of valid, non-empty text.
char32_t last_point(std::string_view text) {
  std::size_t at = text.size() - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return next_valid_point(text, at);
}

bool touches_word(std::string_view before, std::string_view behind) {
  if (!before.empty() && CharClasses::is_word(last_point(before))) return true;
  std::size_t at = 0;
  return !behind.empty() && CharClasses::is_word(next_valid_point(behind, at));
}

std::size_t spaces_at_end(std::string_view text) {
  const std::size_t size = text.size();
  while (!text.empty() && CharClasses::get().of(last_point(text)) == CharClass::space) {
    do {
      text.remove_suffix(1);
    } while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80);
  }
  return size - text.size();
}

std::size_t spaces_at_start(std::string_view text) {
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size(); end = at) {
    if (CharClasses::get().of(next_valid_point(text, at)) != CharClass::space) break;
  }
  return end;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  for (const AddedToken& token : tokens_) {
    if (token.content.empty()) continue;
    (token.normalized ? normalized_ : plain_).add(token);
  }
  for (Set* set : {&plain_, &normalized_}) {
    std::sort(set->sorted.begin(), set->sorted.end(),
              [](const AddedToken* a, const AddedToken* b) { return a->content < b->content; });
  }
}

void AddedTokens::Set::add(const AddedToken& token) {
  sorted.push_back(&token);
  const std::string& content = token.content;
  const auto first = static_cast<unsigned char>(content[0]);
  if (!begins[first]) first_bytes.push_back(content[0]);
  begins[first] = true;
  if (content.size() > 1) {
    pairs[std::size_t{first} * 256 + static_cast<unsigned char>(content[1])] = true;
  } else {
    std::fill_n(pairs.begin() + first * 256, 256, true);
  }
}

std::size_t AddedTokens::Set::next_place(std::string_view text, std::size_t at) const {
  if (first_bytes.size() == 1) return std::min(text.find(first_bytes[0], at), text.size());
  if (first_bytes.empty()) return text.size();
  while (at < text.size() && !begins[static_cast<unsigned char>(text[at])]) ++at;
  return at;
}

// A token of one byte may stand at the end; no other can.
bool AddedTokens::Set::may_begin(std::string_view text, std::size_t at) const {
  const auto first = static_cast<unsigned char>(text[at]);
  const auto second = at + 1 < text.size() ? static_cast<unsigned char>(text[at + 1]) : 0;
  return pairs[std::size_t{first} * 256 + second];
}

// Narrows the sorted list byte by byte; a token that ends at the current depth stands first.
const AddedToken* AddedTokens::Set::longest_at(std::string_view text) const {
  auto low = sorted.begin();
  auto high = sorted.end();
  const AddedToken* best = nullptr;
  for (std::size_t depth = 0; depth < text.size(); ++depth) {
    const auto byte = static_cast<unsigned char>(text[depth]);
    const auto at_depth = [depth](const AddedToken* token) {
      return static_cast<unsigned char>(token->content[depth]);
    };
    low = std::partition_point(low, high, [&](auto* token) { return at_depth(token) < byte; });
    high = std::partition_point(low, high, [&](auto* token) { return at_depth(token) == byte; });
    while (low != high && (*low)->content.size() == depth + 1) best = *low++;
    if (low == high) break;
  }
  return best;
}

void AddedTokens::split_part(std::string_view text, TextPart part, const Set& set,
                             SpecialParsing parsing, std::vector<TextPart>& out) const {
  const std::string_view inside = text.substr(0, part.end);
  std::size_t from = part.begin;  // begin of the ordinary text that is not given out yet
  for (std::size_t at = part.begin; (at = set.next_place(inside, at)) < part.end;) {
    const AddedToken* token = nullptr;
    if (set.may_begin(inside, at)) token = set.longest_at(inside.substr(at));
    if (token == nullptr) {
      ++at;
      continue;
    }
    std::size_t begin = at;
    std::size_t end = at + token->content.size();
    at = end;  // also when the token is refused: the reference does not look inside of it
    if (token->special && parsing == SpecialParsing::not_special) continue;
    const std::string_view before = inside.substr(from, begin - from);
    if (token->single_word &&
        touches_word(inside.substr(part.begin, begin - part.begin), inside.substr(end))) {
      continue;
    }
    if (token->lstrip) begin -= spaces_at_end(before);
    if (token->rstrip) end += spaces_at_start(inside.substr(end));
    if (from < begin) out.push_back({from, begin, -1});
    out.push_back({begin, end, token->id});
    from = at = end;
  }
  if (from < part.end) out.push_back({from, part.end, -1});
}

const AddedToken* AddedTokens::find(std::string_view content) const {
  for (const Set* set : {&plain_, &normalized_}) {
    const auto at =
        std::partition_point(set->sorted.begin(), set->sorted.end(),
                             [&](const AddedToken* token) { return token->content < content; });
    if (at != set->sorted.end() && (*at)->content == content) return *at;
  }
  return nullptr;
}

std::vector<TextPart> AddedTokens::split(std::string_view text, SpecialParsing parsing) const {
  if (text.empty()) return {};
  const TextPart whole{0, text.size(), -1};
  if (parsing == SpecialParsing::none) return {whole};
  std::vector<TextPart> parts;
  split_part(text, whole, plain_, parsing, parts);
  if (normalized_.sorted.empty()) return parts;
  std::vector<TextPart> out;
  for (const TextPart& part : parts) {
    if (part.id >= 0) {
      out.push_back(part);
    } else {
      split_part(text, part, normalized_, parsing, out);
    }
  }
  return out;
}

}  // namespace linnet
