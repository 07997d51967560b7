// A GGUF file read as a model in Hugging Face's terms: names, row order, configuration, tokenizer.
// Architectures llama and smollm3.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/json.h"
#include "formats/gguf.h"
#include "formats/weights.h"
#include "text/tokenizer_data.h"
#include "text/tokenizer_gguf.h"

namespace linnet {

// Error{unsupported} for other architectures; corrupt_file naming the key that is missing or bad.
Json gguf_config(const GgufFile& file);
// The special ids, eot and eom among the eos ids, and sampling defaults; null when the file has
// none.
Json gguf_generation_config(const GgufFile& file);
void add_gguf_sampling(const GgufFile& file, Json& config);
// 1e-6 for the f32 next to it, as a config.json would have it, and not 9.99999997e-07.
double shortest_double(const GgufValue& value);
// The texts of the special tokens and whether they are added; null without a tokenizer.
Json gguf_tokenizer_config(const GgufFile& file);
std::optional<std::string> gguf_chat_template(const GgufFile& file);
std::optional<std::string> gguf_license(const GgufFile& file);
// As the file has it, unchecked. Error{not_found} when the file has no tokenizer.
GgufVocabulary gguf_vocabulary(const GgufFile& file);
TokenizerData gguf_tokenizer(const GgufFile& file);

// Q and K come with their rows in half-split order, whatever the type; the rest as views.
std::shared_ptr<const Weights> gguf_weights(std::shared_ptr<const GgufFile> file);

// "blk.0.attn_q.weight" for "model.layers.0.self_attn.q_proj.weight", and back; the name itself
// when it has no counterpart.
std::string gguf_name_of(std::string_view name);
std::string huggingface_name_of(std::string_view name);

}  // namespace linnet
