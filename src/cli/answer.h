// One answer of a model: generates, and cuts the stream into reasoning and answer on the way.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/think_splitter.h"
#include "engine/generator.h"

namespace linnet {

struct AnswerRequest {
  std::vector<TokenId> prompt;
  GenerationConfig config;
  bool split = true;                       // false: everything is answer, tags and all
  bool in_reasoning = false;               // the prompt leaves <think> open
  ThinkSplitter::Sink sink;                // sees the parts as they come
  std::function<void(double)> on_prefill;  // 0 to 1
};

struct Answer {
  std::string text;
  std::string reasoning;
  GenerationResult result;
};

// A Ctrl-C that was deferred (interrupt.h) ends it early, with what was made so far.
Answer generate_answer(Generator& generator, const AnswerRequest& request);

// {"completion_tokens", "finish", "seed", ...}: numbers of a result, for records and /stats.
Json result_json(const GenerationResult& result);
Json memory_json();

}  // namespace linnet
