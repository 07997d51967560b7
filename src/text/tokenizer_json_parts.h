// The parts around the model of a tokenizer.json: normalizer, pre-tokenizer, post-processor and
// decoder. Each is recognised as one of the known kinds or refused by name.
#pragma once

#include "text/json_fields.h"
#include "text/tokenizer_data.h"

namespace linnet {

void read_tokenizer_parts(const JsonField& root, TokenizerData& data);

}  // namespace linnet
