// What a model's configuration and tokenizer become in the metadata of a GGUF file, under the names
// that llama.cpp gives them. What the format cannot say is refused by name, never left out: a
// program that reads the file would run another model without a sign.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/json.h"
#include "formats/gguf_writer.h"
#include "text/tokenizer_data.h"
#include "text/tokenizer_gguf.h"

namespace linnet {

// "smollm3" or "llama" (also for a SmolLM3 in which every layer rotates). `file` is the config's,
// for messages. Error{unsupported} naming the field: other architectures and task heads; layers
// without rotation that are not every fourth (the format has no key for them); sliding windows;
// activations other than silu; rope types other than default, linear, plain yarn, llama3, and
// longrope with one list.
std::string gguf_architecture(const Json& config, const std::string& file);
// general.architecture and the keys of the architecture.
std::vector<GgufField> gguf_architecture_fields(const Json& config, const std::string& file);
// The divisors of all frequencies [head_dim / 2] that go into the tensor rope_freqs.weight; empty
// when the rotation needs none.
std::vector<float> gguf_rope_divisors(const Json& config, const std::string& file);

// The sampling defaults of a generation_config.json (null: none) as general.sampling.*; without
// do_sample the temperature is 0, which is greedy. Error{invalid_argument} naming a field of the
// wrong type.
std::vector<GgufField> gguf_sampling_fields(const Json& config);
// Names of its fields that the format has no key for.
std::vector<std::string> lost_generation_fields(const Json& config);

// A tokenizer as a GGUF file has it, for an embedding of `rows` rows: ids without a token become
// "[PAD<id>]", unused. `prefer` is the architecture, which decides between names of equal meaning.
// Error{unsupported} for what the format cannot say (NFC, an unknown combination of rules).
GgufVocabulary gguf_vocabulary_of(const TokenizerData& data, std::size_t rows,
                                  const std::string& prefer);
// "[PAD7]" for 7.
std::string gguf_padding_token(std::size_t id);
std::vector<GgufField> gguf_tokenizer_fields(const GgufVocabulary& vocabulary);

}  // namespace linnet
