// Reads tokenizer.json (byte-level BPE). Only parts whose meaning is known are accepted: the split
// expression must be one of the known ones, letter for letter, since expressions from a file are
// never run. Truncation and padding settings are ignored: encode gives the whole text.
#pragma once

#include <string>
#include <string_view>

#include "text/tokenizer_data.h"

namespace linnet {

// `name` (the file) begins each message. Errors: corrupt_file (syntax, types, ids, merges),
// unsupported (other model, normalizer, pre-tokenizer, post-processor, decoder), by field.
TokenizerData tokenizer_data_from_json(std::string_view json, const std::string& name);

}  // namespace linnet
