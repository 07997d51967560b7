// The output parser fed with token ids. Control tokens are part of the text (some tokenizers mark
// the tags as such), so ids and the text they stand for give the same result. The id that ended
// the output is not fed: it is no text.
#pragma once

#include "text/output_parser.h"
#include "text/stream_decoder.h"

namespace linnet {

class OutputIdParser {
 public:
  // The tokenizer must outlive the parser.
  OutputIdParser(const Tokenizer& tokenizer, OutputParserOptions options)
      : decoder_(tokenizer, false), parser_(options) {}

  std::vector<OutputDelta> push(TokenId id);
  std::vector<OutputDelta> finish(OutputEnd end);
  const ParsedOutput& result() const { return parser_.result(); }

 private:
  StreamDecoder decoder_;
  OutputParser parser_;
};

}  // namespace linnet
