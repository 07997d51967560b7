// The answers of a model to one prompt: generates, and takes the stream apart on the way.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "engine/generator.h"
#include "text/output_parser.h"

namespace linnet {

struct Answer {
  ParsedOutput output;  // `finish` may also be "cancelled"
  GenerationResult result;

  // Not even text: the tokens went into thoughts.
  bool is_empty() const { return output.content.value_or("").empty() && output.tool_calls.empty(); }
  // A call that is not whole and valid stands in the text, and nobody interrupted it.
  bool has_broken_call() const {
    return output.parse_error && result.finish != FinishReason::cancelled;
  }
};

inline constexpr const char* kBrokenCall =
    "a tool call in the answer is not whole and valid; it is shown as text";

using AnswerSink = std::function<void(const OutputDelta&)>;

// From the events of one answer to its parts.
class AnswerReader {
 public:
  // Without parser options everything is content, tags and all. The sink sees the parts as they
  // come; it may be null.
  AnswerReader(const Tokenizer& tokenizer, const std::optional<OutputParserOptions>& parser,
               AnswerSink sink = nullptr);

  void read(const TokenEvent& event);
  // At the end.
  Answer finish(GenerationResult result);

 private:
  bool is_special_tag(TokenId id) const;
  void deliver(const std::vector<OutputDelta>& deltas) const;

  const Tokenizer* tokenizer_;
  AnswerSink sink_;
  std::optional<OutputParser> parser_;
  std::string plain_;
};

struct AnswerRequest {
  Request request;  // without callbacks
  std::optional<OutputParserOptions> parser;
  AnswerSink sink;                         // of the first answer
  std::function<void(double)> on_prefill;  // 0 to 1
};

// One for each of request.answers. A Ctrl-C that was deferred (interrupt.h) ends them early, with
// what was made so far.
std::vector<Answer> generate_answers(Generator& generator, AnswerRequest request);

// {"prompt_tokens", "completion_tokens", "seed", ...}: numbers of a result.
Json result_json(const GenerationResult& result);
// {"finish", "text", "reasoning", "tool_calls", "parse_error"}, and "logprobs" and "score" where
// there are any.
Json answer_json(const Answer& answer, const Tokenizer& tokenizer);
// [{"token", "id", "logprob", "bytes", "top_logprobs"}] as OpenAI has them, with ids.
Json log_probabilities_json(const std::vector<RowLogProbs>& rows, const Tokenizer& tokenizer);
Json memory_json();

}  // namespace linnet
