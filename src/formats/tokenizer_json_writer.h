// Writes a tokenizer.json that the tokenizers library and Linnet read, from what a GGUF file has.
#pragma once

#include <string>

#include "text/tokenizer_gguf.h"

namespace linnet {

// The text of the file. Unused entries named "[PAD<id>]" are left out: they fill gaps. Errors:
// those of tokenizer_data_from_gguf, by which the vocabulary is checked first.
std::string tokenizer_json_of(const GgufVocabulary& vocabulary);

}  // namespace linnet
