// A vocabulary small enough to check by hand: id = byte for all 256 bytes, then what a test adds.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/error.h"
#include "text/tokenizer.h"

namespace toy {

struct ToyVocabulary {
  linnet::TokenizerData data;

  ToyVocabulary() {
    data.name = "toy";
    for (int byte = 0; byte < 256; ++byte) data.vocab.emplace_back(1, static_cast<char>(byte));
  }
  linnet::TokenId add(std::string_view bytes) {
    data.vocab.emplace_back(bytes);
    return static_cast<linnet::TokenId>(data.vocab.size() - 1);
  }
  // A merge of two tokens that exist, into one that is added when it does not.
  linnet::TokenId merge(std::string_view left, std::string_view right) {
    const std::string both = std::string(left) + std::string(right);
    const auto id = find(both) < 0 ? add(both) : find(both);
    data.merges.push_back({find(left), find(right), id});
    return id;
  }
  linnet::TokenId find(std::string_view bytes) const {
    for (std::size_t id = 0; id < data.vocab.size(); ++id) {
      if (data.vocab[id] == bytes) return static_cast<linnet::TokenId>(id);
    }
    return -1;
  }
  // An added token behind everything so far.
  linnet::TokenId special(std::string_view content, bool is_special = true) {
    data.vocab.emplace_back();
    const auto id = static_cast<linnet::TokenId>(data.vocab.size() - 1);
    linnet::AddedToken token;
    token.content = content;
    token.id = id;
    token.special = is_special;
    data.added.push_back(token);
    return id;
  }
};

// The ids of single bytes.
inline std::vector<linnet::TokenId> bytes(std::string_view text) {
  std::vector<linnet::TokenId> ids;
  for (const char byte : text) ids.push_back(static_cast<unsigned char>(byte));
  return ids;
}

inline std::vector<linnet::TokenId> joined(
    std::initializer_list<std::vector<linnet::TokenId>> parts) {
  std::vector<linnet::TokenId> ids;
  for (const auto& part : parts) ids.insert(ids.end(), part.begin(), part.end());
  return ids;
}

// The code of the Error that `call` throws, or "no error"; the message goes to `message`.
template <typename Call>
std::string error_of(Call call, std::string* message = nullptr) {
  try {
    call();
  } catch (const linnet::Error& error) {
    if (message != nullptr) *message = error.what();
    return std::string(linnet::error_code_name(error.code()));
  }
  return "no error";
}

}  // namespace toy
