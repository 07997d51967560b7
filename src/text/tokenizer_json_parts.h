// The parts around the model of a tokenizer.json: normalizer, pre-tokenizer, post-processor and
// decoder. Each is recognised as one of the known kinds or refused by name.
#pragma once

#include <string_view>

#include "text/json_fields.h"
#include "text/tokenizer_data.h"

namespace linnet {

void read_tokenizer_parts(const JsonField& root, TokenizerData& data);

// The expression of a rule as such files spell it; empty for the rules that they spell without one.
std::string_view split_expression(SplitRule split);

}  // namespace linnet
