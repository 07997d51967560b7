#include "text/merge_reader.h"

#include <fmt/core.h>

#include "base/error.h"
#include "base/utf8.h"
#include "text/byte_alphabet.h"

namespace linnet {

MergeReader::MergeReader(TokenizerData& data) : data_(data), table_(data) {}

void MergeReader::add(std::string_view left, std::string_view right) {
  bytes_.clear();
  if (left.empty() || right.empty()) refuse(left, right, "has an empty side");
  if (!append_from_byte_alphabet(left, bytes_)) refuse(left, right, "leaves the byte alphabet");
  const std::size_t cut = bytes_.size();
  if (!append_from_byte_alphabet(right, bytes_)) refuse(left, right, "leaves the byte alphabet");
  const std::string_view both = bytes_;
  const Merge merge{table_.find(both.substr(0, cut)), table_.find(both.substr(cut)),
                    table_.find(both)};
  if (merge.left == TokenTable::kNone) refuse(left, right, "has a left side without an id");
  if (merge.right == TokenTable::kNone) refuse(left, right, "has a right side without an id");
  if (merge.result == TokenTable::kNone) refuse(left, right, "makes a token without an id");
  data_.merges.push_back(merge);
}

void MergeReader::add(std::string_view pair) {
  const std::size_t space = pair.find(' ');
  if (space == std::string_view::npos || pair.find(' ', space + 1) != std::string_view::npos) {
    refuse(pair, "", "is not two tokens with one space between");
  }
  add(pair.substr(0, space), pair.substr(space + 1));
}

void MergeReader::refuse(std::string_view left, std::string_view right,
                         std::string_view why) const {
  const auto shown = [](std::string_view text) { return repair_utf8(text.substr(0, 80)); };
  fail(ErrorCode::corrupt_file, fmt::format("{}: merge {} ('{}' '{}') {}", data_.name,
                                            data_.merges.size(), shown(left), shown(right), why));
}

}  // namespace linnet
