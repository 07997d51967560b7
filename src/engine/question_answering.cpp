#include "engine/question_answering.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "engine/answer_spans.h"
#include "engine/prepare_all.h"
#include "tensor/functions.h"

namespace linnet {
namespace {

using Prepared = QuestionAnswerer::Prepared;

// Start (side 0) or end (1) logits of the rows of a window, as probabilities of the candidates.
struct Side {
  std::vector<float> tokens;  // of the context's tokens
  float none = 0;             // of the input's first token
};

Side probabilities(std::span<const float> rows, std::size_t side, std::size_t first,
                   std::size_t count, bool with_none) {
  Side out;
  for (std::size_t i = first; i < first + count; ++i) out.tokens.push_back(rows[2 * i + side]);
  if (with_none) out.tokens.push_back(rows[side]);
  softmax(out.tokens.data(), static_cast<std::int64_t>(out.tokens.size()));
  if (with_none) {
    out.none = out.tokens.back();
    out.tokens.pop_back();
  }
  return out;
}

// The answers of one question, as its windows give them.
class AnswerList {
 public:
  AnswerList(const Prepared& question, const QuestionOptions& options)
      : question_(question), options_(options) {}

  // `rows`: [question, context of the window, ids around; 2] logits.
  void add(const Window& window, std::span<const float> rows) {
    const std::size_t first = question_.question_tokens + question_.context.before;
    const std::size_t count = window.end - window.begin;
    const Side start = probabilities(rows, 0, first, count, options_.impossible);
    const Side end = probabilities(rows, 1, first, count, options_.impossible);
    none_ = std::min(none_, start.none * end.none);
    std::vector<AnswerSpan> spans;
    if (options_.rule == SpanRule::independent) {
      spans.push_back(independent_span(start.tokens, end.tokens));
    } else {
      spans = best_spans(start.tokens, end.tokens, static_cast<std::size_t>(options_.most_tokens),
                         static_cast<std::size_t>(options_.top));
    }
    for (AnswerSpan span : spans) {
      span.first += window.begin;
      span.last += window.begin;
      spans_.push_back(span);
    }
  }

  std::vector<SpanAnswer> finish() {
    std::vector<SpanAnswer> answers;
    std::set<std::pair<std::size_t, std::size_t>> seen;  // windows overlap
    std::stable_sort(spans_.begin(), spans_.end(),
                     [](const AnswerSpan& a, const AnswerSpan& b) { return a.score > b.score; });
    CharacterCount count(question_.context.text);
    for (const AnswerSpan& span : spans_) {
      if (seen.insert({span.first, span.last}).second) answers.push_back(answer_of(span, count));
    }
    if (options_.impossible) {
      const auto worse = std::find_if(answers.begin(), answers.end(),
                                      [&](const SpanAnswer& a) { return a.score < none_; });
      answers.insert(worse, {"", none_, {}, true});
    }
    if (answers.size() > static_cast<std::size_t>(options_.top))
      answers.resize(static_cast<std::size_t>(options_.top));
    return answers;
  }

 private:
  SpanAnswer answer_of(const AnswerSpan& span, CharacterCount& count) const {
    const TaskText& context = question_.context;
    const TokenSpan first = context.spans[context.before + span.first];
    const TokenSpan last = context.spans[context.before + span.last];
    // Nothing lies between a start and an end before it.
    if (span.last < span.first) return {"", span.score, count.range({first.begin, first.begin})};
    const TokenSpan range = without_space(context.text, {first.begin, last.end});
    return {context.text.substr(range.begin, range.end - range.begin), span.score,
            count.range(range)};
  }

  const Prepared& question_;
  const QuestionOptions& options_;
  std::vector<AnswerSpan> spans_;
  float none_ = 1;
};

void check_options(const Model& model, const QuestionOptions& options) {
  if (model.config().task_head != TaskHead::question_answering) {
    fail(ErrorCode::invalid_argument,
         fmt::format("question answering reads starts and ends, but the model was opened with the "
                     "head {}: open it with question_answering",
                     task_head_name(model.config().task_head)));
  }
  if (options.top < 1 || options.most_tokens < 1 || options.stride < 0) {
    fail(
        ErrorCode::invalid_argument,
        fmt::format("top {}, most tokens {}, stride {}: the first two must be at least 1, the last "
                    "at least 0",
                    options.top, options.most_tokens, options.stride));
  }
}

}  // namespace

QuestionAnswerer::QuestionAnswerer(std::shared_ptr<const Model> model,
                                   std::shared_ptr<const Tokenizer> tokenizer,
                                   QuestionOptions options)
    : model_(std::move(model)),
      encoder_(model_, std::move(tokenizer), options.trust_text),
      options_(options),
      window_(checked_max_tokens(*model_, options.window)) {
  check_options(*model_, options_);
}

QuestionAnswerer::Prepared QuestionAnswerer::prepare(const Question& question) const {
  Prepared prepared;
  const TaskText asked = encoder_.encode(question.question);
  prepared.context = encoder_.encode(question.context);
  if (asked.text_tokens() == 0) fail(ErrorCode::invalid_argument, "the question is empty");
  if (prepared.context.text_tokens() == 0) {
    fail(ErrorCode::invalid_argument, "the context is empty: there is nothing to find answers in");
  }
  prepared.question_tokens = asked.ids.size();
  const std::size_t around = prepared.context.before + prepared.context.after;
  const auto most = static_cast<std::size_t>(window_);
  if (asked.ids.size() + around >= most) {
    fail(ErrorCode::invalid_argument,
         fmt::format("the question has {} tokens, of {} that are read at once: no room is left for "
                     "the context",
                     asked.ids.size() + around, most));
  }
  const std::size_t room = most - around - asked.ids.size();
  const std::size_t overlap = std::min(static_cast<std::size_t>(options_.stride), room / 2);
  prepared.windows = make_windows(prepared.context.text_tokens(), room, overlap);
  for (const Window& window : prepared.windows) {
    const std::vector<TokenId> part = prepared.context.window_ids(window);
    prepared.ids.push_back(asked.ids);
    prepared.ids.back().insert(prepared.ids.back().end(), part.begin(), part.end());
  }
  return prepared;
}

std::vector<QuestionResult> QuestionAnswerer::answer(std::span<const Question> questions) const {
  return answer(std::span<const Prepared>(prepare_all(*this, questions)));
}

std::vector<QuestionResult> QuestionAnswerer::answer(std::span<const Prepared> questions) const {
  std::vector<RowInput> inputs;
  std::vector<std::pair<std::size_t, std::size_t>> places;  // question and window of each input
  std::vector<AnswerList> lists;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    lists.emplace_back(questions[i], options_);
    for (std::size_t j = 0; j < questions[i].windows.size(); ++j) {
      inputs.push_back({questions[i].ids[j], std::nullopt});
      places.emplace_back(i, j);
    }
  }
  std::vector<float> rows;  // of the window that is being read
  const auto keep = [&](std::size_t index, std::span<const float> part) {
    rows.insert(rows.end(), part.begin(), part.end());
    if (rows.size() < 2 * inputs[index].ids.size()) return;
    const auto [question, window] = places[index];
    lists[question].add(questions[question].windows[window], rows);
    rows.clear();
  };
  run_in_batches(*model_, inputs, options_.limits, keep, options_.cancel);
  std::vector<QuestionResult> results;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const Prepared& question = questions[i];
    const std::size_t tokens = question.question_tokens + question.context.ids.size();
    results.push_back({lists[i].finish(), static_cast<std::int64_t>(tokens),
                       static_cast<std::int64_t>(question.windows.size())});
  }
  return results;
}

}  // namespace linnet
