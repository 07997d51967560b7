// Embeddings: one vector per text, such that texts of like meaning lie near each other. Any
// checkpoint will do, opened as its bare decoder; how good the vectors are is up to its training.
//
//   TaskModel opened = TaskModel::load("model-folder", TaskHead::none);
//   TextEmbedder embedder(opened.model, opened.tokenizer);
//   const std::vector<std::string> texts = {"a bird", "a finch"};
//   const std::vector<Embedding> embeddings = embedder.embed(texts);
//   const float similarity = dot(embeddings[0].values.data(), embeddings[1].values.data(),
//                                embedder.width());
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/row_batches.h"
#include "engine/task_text.h"

namespace linnet {

// Of the rows behind the final norm. There is no rule for the first token ("cls"): in a causal
// decoder it has seen nothing but itself, so its row says nothing about the text.
enum class EmbeddingPooling : std::uint8_t {
  mean,  // of all tokens of the text
  last,  // the last token, which has seen the whole text
};

struct EmbedOptions {
  EmbeddingPooling pooling = EmbeddingPooling::mean;
  // Divides by the Euclidean length, so that a dot product is the cosine: what embedding servers
  // give by default. A vector of zeros stays as it is.
  bool normalize = true;
  std::int64_t max_tokens = 0;  // longer texts lose their end; 0: the model's context
  bool trust_text = false;      // control tokens in a text count as such
  BatchLimits limits = {};
  const std::atomic<bool>* cancel = nullptr;
};

struct Embedding {
  std::vector<float> values;  // [hidden]
  std::int64_t tokens = 0;    // that were read
  bool truncated = false;
};

class TextEmbedder {
 public:
  struct Prepared {
    std::vector<TokenId> ids;
    bool truncated = false;
  };

  // Error{invalid_argument} for a model that was not opened with TaskHead::none, and for options
  // out of range.
  TextEmbedder(std::shared_ptr<const Model> model, std::shared_ptr<const Tokenizer> tokenizer,
               EmbedOptions options = {});

  // Results in the order of the texts; each is the same, to the bit, in any company. Errors: those
  // of prepare(), with the text's number; cancelled.
  std::vector<Embedding> embed(std::span<const std::string> texts) const;

  // The two halves of it, for callers that want to go on when one text is refused. Errors of
  // prepare: invalid_argument for invalid UTF-8 and for a text without any token.
  Prepared prepare(const std::string& text) const;
  std::vector<Embedding> embed(std::span<const Prepared> texts) const;

  std::int64_t width() const { return model_->config().hidden; }

 private:
  std::shared_ptr<const Model> model_;
  TaskEncoder encoder_;
  EmbedOptions options_;
  std::int64_t max_tokens_;
};

}  // namespace linnet
