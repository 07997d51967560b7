// The tokenizer of a GGUF file, from its metadata. Only byte-level BPE ("gpt2") is known; the split
// rule is taken from tokenizer.ggml.pre by name, and an unknown or absent name is refused: a wrong
// guess would give wrong ids without a sign.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer_data.h"

namespace linnet {

struct GgufVocabulary {
  std::string name;                 // of the file, for messages
  std::string model;                // tokenizer.ggml.model
  std::string pre;                  // tokenizer.ggml.pre
  std::vector<std::string> tokens;  // in the byte-level alphabet; added ones as they are
  std::vector<int> types;           // tokenizer.ggml.token_type; empty: all are normal
  std::vector<std::string> merges;  // "a b"
  std::optional<TokenId> bos;
  std::optional<TokenId> eos;
  std::optional<TokenId> pad;
  bool add_bos = false;
  bool add_eos = false;
};

// Errors: unsupported (model, pre), corrupt_file (everything else).
TokenizerData tokenizer_data_from_gguf(const GgufVocabulary& source);

// The names in tokenizer.ggml.pre that stand for this behaviour; none when no name does.
std::vector<std::string_view> gguf_pre_names(SplitRule split, bool ignore_merges);

}  // namespace linnet
