// Processors whose effect depends on the ids so far. Each keeps what it needs of them from call to
// call and looks at an id of the text once, where it can.
#pragma once

#include "engine/processors.h"

namespace linnet {

using ProcessorList = std::vector<std::unique_ptr<LogitsProcessor>>;

// Those that the config asks for, in order.
ProcessorList history_processors(const GenerationConfig& config);

// How far the end of a text repeats what came before: lengths[d] = the length, at most `most`, of
// the longest common suffix of ids and ids without its last d (lengths[0] = 0).
// Linear in the text, whatever it is (Gusfield's Z algorithm on the reversed text).
void suffix_lengths(std::span<const TokenId> ids, std::size_t most,
                    std::vector<std::uint32_t>& lengths);

// factor^exponent by squaring: the same on every machine. At most 1e30.
double whole_power(double factor, std::uint64_t exponent);

// The score of an id that a config names. Error{invalid_argument} when the row has no such id.
float& score_of(std::span<float> scores, TokenId id, std::string_view field);

std::unique_ptr<LogitsProcessor> no_repeat_ngram_processor(std::int64_t length);
std::unique_ptr<LogitsProcessor> dry_processor(const GenerationConfig& config);

}  // namespace linnet
