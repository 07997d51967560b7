// Reads merges as vocabulary files write them, in the byte-level alphabet, against a vocabulary
// that is complete. A merge of tokens that do not exist, or into one, is Error{corrupt_file}: the
// reference refuses such files too.
#pragma once

#include <string>
#include <string_view>

#include "text/token_table.h"
#include "text/tokenizer_data.h"

namespace linnet {

class MergeReader {
 public:
  // Appends to data.merges. Error{corrupt_file} when the vocabulary has a token twice.
  explicit MergeReader(TokenizerData& data);
  void add(std::string_view left, std::string_view right);
  // "left right"; the alphabet has no space.
  void add(std::string_view pair);

 private:
  [[noreturn]] void refuse(std::string_view left, std::string_view right,
                           std::string_view why) const;

  TokenizerData& data_;
  TokenTable table_;
  std::string bytes_;
};

}  // namespace linnet
