// A prompt's ids. Control tokens that the template wrote are tokens; the same texts written by a
// client are ordinary text, so that no message can forge a turn.
#pragma once

#include <vector>

#include "text/chat.h"
#include "text/tokenizer.h"

namespace linnet {

// With `trust_user_tokens`, control tokens count wherever they stand. Otherwise an added token
// whose text overlaps the client's bytes is cut out and encoded as ordinary text on its own;
// everything else is encoded as one text, since pieces may cross from the template's words to the
// client's.
std::vector<TokenId> encode_prompt(const Tokenizer& tokenizer, const Prompt& prompt,
                                   bool trust_user_tokens);

// The same with the place of each id in the prompt's text (in its NFC form where the tokenizer
// normalizes).
Encoding encode_prompt_with_offsets(const Tokenizer& tokenizer, const Prompt& prompt,
                                    bool trust_user_tokens);

}  // namespace linnet
