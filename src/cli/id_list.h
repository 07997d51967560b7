// Token ids as people and programs write them.
#pragma once

#include <string>
#include <vector>

#include "text/tokenizer_data.h"

namespace linnet {

// Ids separated by white space or commas, brackets around them allowed: what tokenize prints, and
// JSON arrays of ids. UsageError naming `name` and the place in the list for what is no id; whether
// the vocabulary has an id (-1 has none) is for the tokenizer to say.
std::vector<TokenId> parse_ids(const std::string& text, const std::string& name);
// "1 2 3"
std::string ids_text(const std::vector<TokenId>& ids);

}  // namespace linnet
