// Text classification: which label a whole text, or a pair of texts, deserves.
//
//   TaskModel opened = TaskModel::load("model-folder", TaskHead::sequence_classification);
//   TextClassifier classifier(opened.model, opened.tokenizer);
//   const std::vector<TextPair> texts = {{"The invoice is wrong."}, {"It does not start."}};
//   for (const Classification& result : classifier.classify(texts))
//     use(result.labels[0].label, result.labels[0].score);
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/label_scores.h"
#include "engine/row_batches.h"
#include "engine/task_text.h"
#include "model/pooling.h"

namespace linnet {

// A pair's tokens are those of the text, then those of the pair, each with what the tokenizer's
// post-processor puts around a text: what the reference tokenizers do for this family.
struct TextPair {
  std::string text;
  std::optional<std::string> pair = {};
};

struct ClassifyOptions {
  std::int64_t top = 5;  // labels given, best first; 0: all
  ScoreFunction scores = ScoreFunction::automatic;
  // Which token is read. Nothing is padded here, so the rules differ only in a text that holds the
  // pad id itself (control tokens that are trusted).
  PoolingRule pooling = PoolingRule::rightmost_not_pad;
  // Longer texts lose their end, of a pair the longer one; 0: the model's context.
  std::int64_t max_tokens = 0;
  bool trust_text = false;  // control tokens in a text count as such
  BatchLimits limits = {};
  const std::atomic<bool>* cancel = nullptr;
};

struct Classification {
  std::vector<LabelScore> labels;  // best first
  std::int64_t tokens = 0;         // that were read
  bool truncated = false;
};

class TextClassifier {
 public:
  struct Prepared {
    std::vector<TokenId> ids;
    std::int64_t row = 0;  // that is read
    bool truncated = false;
  };

  // The model has a sequence classification head, or one of token classification, which is then
  // read at the same row. Error{invalid_argument} for another head and for options out of range.
  TextClassifier(std::shared_ptr<const Model> model, std::shared_ptr<const Tokenizer> tokenizer,
                 ClassifyOptions options = {});

  // Results in the order of the texts; each is the same, to the bit, in any company. Errors: those
  // of prepare(), with the text's number; cancelled.
  std::vector<Classification> classify(std::span<const TextPair> texts) const;

  // The two halves of it, for callers that want to go on when one text is refused. Errors of
  // prepare: invalid_argument for invalid UTF-8 and for a text without any token.
  Prepared prepare(const TextPair& text) const;
  std::vector<Classification> classify(std::span<const Prepared> texts) const;

 private:
  std::shared_ptr<const Model> model_;
  TaskEncoder encoder_;
  ClassifyOptions options_;
  std::int64_t max_tokens_;
  ScoreFunction function_;
};

}  // namespace linnet
