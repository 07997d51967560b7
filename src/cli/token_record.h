// The JSON record of an encoded text, on one line, as `linnet tokenize` prints it.
#pragma once

#include <string>

#include "text/tokenizer.h"

namespace linnet {

struct TokenRecordParts {
  bool ids = true;
  bool pieces = false;   // the text of each token
  bool offsets = false;  // the bytes of the text that it stands for
};

// {"count":2,"ids":[1,2],"pieces":["a","b"],"offsets":[[0,1],[1,2]]}; a piece that is not valid
// UTF-8 has U+FFFD. Spans are needed for the offsets only.
std::string token_record(const Encoding& encoding, const Tokenizer& tokenizer,
                         TokenRecordParts parts);

}  // namespace linnet
