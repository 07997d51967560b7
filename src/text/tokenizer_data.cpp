#include "text/tokenizer_data.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <unordered_set>

#include "base/error.h"
#include "base/utf8.h"

namespace linnet {
namespace {

// Checks added tokens one by one and remembers what was seen.
class AddedChecker {
 public:
  explicit AddedChecker(const TokenizerData& data) : data_(data) {}

  void check(const AddedToken& token) {
    if (token.content.empty()) refuse(token, "has no content");
    if (token.content.size() > kMaxAddedTokenBytes) {
      refuse(token, fmt::format("is longer than {} bytes", kMaxAddedTokenBytes));
    }
    if (find_invalid_utf8(token.content)) refuse(token, "is not valid UTF-8");
    if (token.id < 0 || token.id > kMaxTokenId) {
      refuse(token, fmt::format("is outside of 0 to {}", kMaxTokenId));
    }
    if (!contents_.insert(token.content).second) refuse(token, "has the content of another one");
    if (!ids_.insert(token.id).second) refuse(token, "has the id of another one");
    const auto id = static_cast<std::size_t>(token.id);
    if (id < data_.vocab.size() && !data_.vocab[id].empty() && data_.vocab[id] != token.content) {
      refuse(token, "is another token in the vocabulary");
    }
  }

 private:
  [[noreturn]] void refuse(const AddedToken& token, const std::string& why) const {
    // A long or broken content is shown in part.
    const std::string shown = repair_utf8(std::string_view(token.content).substr(0, 80));
    fail(ErrorCode::corrupt_file,
         fmt::format("{}: added token {} '{}' {}", data_.name, token.id, shown, why));
  }

  const TokenizerData& data_;
  std::unordered_set<std::string_view> contents_;
  std::unordered_set<TokenId> ids_;
};

}  // namespace

std::size_t token_count(const TokenizerData& data) {
  std::size_t count = data.vocab.size();
  for (const AddedToken& token : data.added) {
    count = std::max(count, static_cast<std::size_t>(token.id) + 1);
  }
  return count;
}

std::vector<bool> encodable_ids(const TokenizerData& data) {
  std::vector<bool> encodable(data.vocab.size());
  for (std::size_t id = 0; id < data.vocab.size(); ++id) encodable[id] = !data.vocab[id].empty();
  for (const TokenId id : data.decode_only) encodable[static_cast<std::size_t>(id)] = false;
  return encodable;
}

void check_tokenizer_data(const TokenizerData& data) {
  AddedChecker added(data);
  for (const AddedToken& token : data.added) added.check(token);
  if (data.vocab.size() > static_cast<std::size_t>(kMaxTokenId) + 1) {
    fail(ErrorCode::corrupt_file, fmt::format("{}: {} tokens, at most {} are possible", data.name,
                                              data.vocab.size(), kMaxTokenId + 1));
  }
  if (data.merges.size() > kMaxMerges) {
    fail(ErrorCode::corrupt_file, fmt::format("{}: {} merges, at most {} are possible", data.name,
                                              data.merges.size(), kMaxMerges));
  }
  const auto check_id = [&](TokenId id, std::size_t size, std::string_view what) {
    if (id >= 0 && static_cast<std::size_t>(id) < size) return;
    fail(ErrorCode::corrupt_file, fmt::format("{}: {} has id {}, expected 0 to {}", data.name, what,
                                              id, static_cast<std::int64_t>(size) - 1));
  };
  for (const TokenId id : data.decode_only) check_id(id, data.vocab.size(), "decode_only");
  for (const Merge& merge : data.merges) {
    for (const TokenId id : {merge.left, merge.right, merge.result}) {
      check_id(id, data.vocab.size(), "a merge");
    }
  }
  const std::size_t count = token_count(data);
  for (const auto* ids : {&data.before, &data.after}) {
    for (const TokenId id : *ids) check_id(id, count, "the post-processor");
  }
  if (!data.row_template) return;
  for (const auto* items : {&data.row_template->single, &data.row_template->pair}) {
    for (const RowTemplate::Item& item : *items) check_id(item.id, count, "the post-processor");
  }
}

}  // namespace linnet
