// The output parser fed with token ids. Control tokens are not part of the text, but for the tags
// of reasoning and calls, which some tokenizers mark as control tokens too; so ids and the text
// they stand for give the same result.
#pragma once

#include "text/output_parser.h"
#include "text/stream_decoder.h"

namespace linnet {

class OutputIdParser {
 public:
  // The tokenizer must outlive the parser.
  OutputIdParser(const Tokenizer& tokenizer, OutputParserOptions options)
      : tokenizer_(tokenizer), decoder_(tokenizer, false), parser_(options) {}

  std::vector<OutputDelta> push(TokenId id);
  std::vector<OutputDelta> finish(OutputEnd end);
  const ParsedOutput& result() const { return parser_.result(); }

 private:
  const Tokenizer& tokenizer_;
  StreamDecoder decoder_;
  OutputParser parser_;
};

}  // namespace linnet
