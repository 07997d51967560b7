#include "engine/text_output.h"

#include "base/error.h"

namespace linnet {

TextOutput::TextOutput(const Tokenizer* tokenizer, std::span<const std::string> stop_strings,
                       bool keep_special)
    : tokenizer_(tokenizer), stops_(stop_strings) {
  if (tokenizer_ != nullptr) {
    decoder_.emplace(*tokenizer_, !keep_special);
  } else if (!stop_strings.empty()) {
    fail(ErrorCode::invalid_argument, "stop strings need a tokenizer, and the model has none");
  }
}

std::string TextOutput::push(TokenId id) {
  // A model's table may have more rows than the tokenizer has tokens; those have no text.
  if (!decoder_ || id >= tokenizer_->size()) return {};
  return stops_.push(decoder_->push(id));
}

std::string TextOutput::finish() {
  std::string text;
  if (decoder_) text = stops_.push(decoder_->flush());
  return text + stops_.finish();
}

}  // namespace linnet
