// From new ids to the text that a reader may see: decoded to complete characters, without special
// tokens unless wanted, cut before a stop string.
#pragma once

#include <optional>
#include <string>

#include "engine/stop_rules.h"
#include "text/stream_decoder.h"
#include "text/tokenizer.h"

namespace linnet {

class TextOutput {
 public:
  // Without a tokenizer (null) there is never any text.
  TextOutput(const Tokenizer* tokenizer, std::span<const std::string> stop_strings,
             bool keep_special);

  // What may be shown after this id.
  std::string push(TokenId id);
  // At the end: what was held back and is no part of a stop string.
  std::string finish();
  // A stop string was found: nothing more will be shown.
  bool stopped() const { return stops_.matched(); }

 private:
  const Tokenizer* tokenizer_;
  std::optional<StreamDecoder> decoder_;
  StopStrings stops_;
};

}  // namespace linnet
