// One answer of a model: generates, and takes the stream apart on the way.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "engine/generator.h"
#include "text/output_parser.h"

namespace linnet {

struct AnswerRequest {
  std::vector<TokenId> prompt;
  GenerationConfig config;
  std::optional<OutputParserOptions> parser;     // none: everything is content, tags and all
  std::function<void(const OutputDelta&)> sink;  // sees the parts as they come
  std::function<void(double)> on_prefill;        // 0 to 1
};

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

// A Ctrl-C that was deferred (interrupt.h) ends it early, with what was made so far.
Answer generate_answer(Generator& generator, const AnswerRequest& request);

// {"completion_tokens", "seed", ...}: numbers of a result, for records and /stats.
Json result_json(const GenerationResult& result);
Json memory_json();

}  // namespace linnet
