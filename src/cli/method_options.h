// How answers are searched for, and what bounds them, beside sampling: options of `run` and fields
// of a line of `batch`. Only what was set replaces the model's own ways.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/options.h"
#include "engine/batch_engine.h"
#include "text/output_parser.h"

namespace linnet {

struct MethodOptions {
  std::int64_t answers = 1;
  std::int64_t beams = 0;  // 0: no beam search
  std::int64_t beam_groups = 1;
  std::optional<float> diversity_penalty, length_penalty;
  std::string early_stopping = "false";
  std::optional<float> contrastive_alpha;
  std::int64_t contrastive_top_k = ContrastiveOptions{}.top_k;
  std::optional<std::int64_t> think_budget;
  std::int64_t logprobs = -1;  // likeliest tokens beside each; -1: no log-probabilities
  bool speculation = true;
  std::string at_limit = "stop";

  // Fields of a JSON object by the options' names, transformers' ("num_beams", "penalty_alpha") or
  // OpenAI's ("n", "top_logprobs"). Error{invalid_argument} names field and range.
  void read(const Json& fields);
  // Into a request whose prompt and config are complete. The parser tells whether the prompt ends
  // within a thought; without one there is no control of thoughts. Error{invalid_argument} for a
  // budget without one, and where at_limit is "error" for tokens that do not fit into `context`.
  void apply_to(Request& request, const Tokenizer& tokenizer,
                const std::optional<OutputParserOptions>& parser, std::int64_t context) const;
};

// --answers, --beams, ... The options write to `target`.
std::vector<Option> method_option_table(MethodOptions& target);
// --think-budget, --no-speculation and --at-limit, which takes one of `at_limit`: what a
// conversation has use for.
std::vector<Option> bound_option_table(MethodOptions& target, std::vector<std::string> at_limit);

}  // namespace linnet
