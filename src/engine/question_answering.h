// Extractive question answering: the stretch of a context that answers a question.
//
//   TaskModel opened = TaskModel::load("model-folder", TaskHead::question_answering);
//   QuestionAnswerer answerer(opened.model, opened.tokenizer);
//   const std::vector<Question> questions = {{"Who wrote it?", "Ada wrote it in 1843."}};
//   const SpanAnswer best = answerer.answer(questions)[0].answers[0];
//   use(best.text, best.score, best.range.begin, best.range.end);
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/row_batches.h"
#include "engine/task_text.h"
#include "engine/windows.h"

namespace linnet {

// The model reads the question's tokens, then the context's.
struct Question {
  std::string question;
  std::string context;
};

// Probabilities are a softmax over the tokens of the context in one window (and the place of no
// answer, where that is possible); the score of an answer is the product of two of them.
enum class SpanRule : std::uint8_t {
  best,         // the span with the largest score that does not end before it begins
  independent,  // most probable start and most probable end, each on its own; one answer per window
};

struct QuestionOptions {
  std::int64_t top = 1;           // answers of each question, best first
  std::int64_t most_tokens = 30;  // of an answer, under SpanRule::best
  SpanRule rule = SpanRule::best;
  // "No answer" is one of the answers: an empty text, with the probability that both start and end
  // are the first token of the input (where the usual training puts them for it), the smallest of
  // all windows.
  bool impossible = false;
  // Tokens read at once, those of the question among them; a longer context is read in overlapping
  // windows, whose answers compete. 0: the model's context.
  std::int64_t window = 0;
  // Tokens of the context that each window repeats of the one before it, at most half of them.
  std::int64_t stride = 128;
  bool trust_text = false;  // control tokens in the texts count as such
  BatchLimits limits = {};
  const std::atomic<bool>* cancel = nullptr;
};

struct SpanAnswer {
  std::string text;  // of the context; empty for no answer
  float score = 0;
  TextRange range;    // in the context, without white space at its ends
  bool none = false;  // this is the answer "there is none"
};

struct QuestionResult {
  std::vector<SpanAnswer> answers;  // best first, at least one
  std::int64_t tokens = 0;          // of question and context
  std::int64_t windows = 0;
};

class QuestionAnswerer {
 public:
  struct Prepared {
    TaskText context;
    std::size_t question_tokens = 0;        // with ids around; the rows before the context's
    std::vector<Window> windows;            // over the context's own tokens
    std::vector<std::vector<TokenId>> ids;  // of each window, the question's first
  };

  // Error{invalid_argument} for a model with another head than question_answering, and for options
  // out of range.
  QuestionAnswerer(std::shared_ptr<const Model> model, std::shared_ptr<const Tokenizer> tokenizer,
                   QuestionOptions options = {});

  // Results in the order of the questions; each is the same, to the bit, in any company. Errors:
  // those of prepare(), with the question's number; cancelled.
  std::vector<QuestionResult> answer(std::span<const Question> questions) const;

  // The two halves of it, for callers that want to go on when one question is refused. Errors of
  // prepare: invalid_argument for invalid UTF-8, for a question or a context without any token, and
  // for a question that leaves no room for the context, with both numbers.
  Prepared prepare(const Question& question) const;
  std::vector<QuestionResult> answer(std::span<const Prepared> questions) const;

 private:
  std::shared_ptr<const Model> model_;
  TaskEncoder encoder_;
  QuestionOptions options_;
  std::int64_t window_;
};

}  // namespace linnet
