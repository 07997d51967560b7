// From a line's fields to how its answers are sampled, and from an answer to OpenAI's "choice".
#pragma once

#include "cli/answer.h"

namespace linnet {

// `base` with the fields of a JSON object (GenerationConfig::from_json) in the place of its own. A
// temperature above 0, or a field that only sampling has use for, asks for sampling. Errors: those
// of from_json.
GenerationConfig config_of_line(GenerationConfig base, const Json& fields);

// {"index", "message" or "text", "logprobs", "finish_reason"}.
Json choice_json(const Answer& answer, std::size_t index, const Tokenizer& tokenizer, bool is_chat);

}  // namespace linnet
