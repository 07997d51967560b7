// Token classification: names, places, amounts and other entities in a text, with their ranges.
//
//   TaskModel opened = TaskModel::load("model-folder", TaskHead::token_classification);
//   TextTagger tagger(opened.model, opened.tokenizer);
//   const std::vector<std::string> texts = {"Ada met Charles in London."};
//   const std::vector<Tagging> results = tagger.tag(texts);
//   for (const Entity& entity : results[0].entities)
//     use(entity.label, entity.phrase, entity.range.begin, entity.range.end);
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/merge_tags.h"
#include "engine/row_batches.h"
#include "engine/task_text.h"
#include "engine/windows.h"

namespace linnet {

struct TagOptions {
  Aggregation aggregation = Aggregation::same;
  std::vector<std::string> ignored = {"O"};  // labels that are not told
  // Tokens read at once; a longer text is read in overlapping windows, of which no token is lost:
  // each is judged in the window where it has most text before it. 0: the model's context.
  std::int64_t window = 0;
  // Tokens that each window repeats of the one before it, at most half a window.
  std::int64_t stride = 128;
  bool trust_text = false;  // control tokens in a text count as such
  BatchLimits limits = {};
  const std::atomic<bool>* cancel = nullptr;
};

struct Tagging {
  std::vector<Entity> entities;  // in the order of the text
  std::int64_t tokens = 0;
  std::int64_t windows = 0;
};

class TextTagger {
 public:
  struct Prepared {
    TaskText text;
    std::vector<Window> windows;            // over the text's own tokens
    std::vector<std::vector<TokenId>> ids;  // of each window
  };

  // The model has a token classification head, or one of sequence classification, which is then
  // read at every token. Error{invalid_argument} for another head and for options out of range.
  TextTagger(std::shared_ptr<const Model> model, std::shared_ptr<const Tokenizer> tokenizer,
             TagOptions options = {});

  // Results in the order of the texts; each is the same, to the bit, in any company. A text without
  // tokens has no entities. Errors: those of prepare(), with the text's number; cancelled.
  std::vector<Tagging> tag(std::span<const std::string> texts) const;

  // The two halves of it, for callers that want to go on when one text is refused. Errors of
  // prepare: invalid_argument for invalid UTF-8.
  Prepared prepare(const std::string& text) const;
  std::vector<Tagging> tag(std::span<const Prepared> texts) const;

 private:
  std::shared_ptr<const Model> model_;
  TaskEncoder encoder_;
  TagOptions options_;
  std::int64_t window_;
};

}  // namespace linnet
