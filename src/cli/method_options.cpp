#include "cli/method_options.h"

#include <fmt/core.h>

#include <cfloat>
#include <utility>

#include "base/error.h"

namespace linnet {
namespace {

constexpr std::int64_t kMostAnswers = 64;  // as many sequences as the engine runs
constexpr std::int64_t kMostTop = static_cast<std::int64_t>(kMaxTopLogProbs);
const std::vector<std::string> kEarlyStopping = {"false", "true", "never"};

const Json* given(const Json& fields, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const Json* value = fields.find(name);
    if (value != nullptr && !value->is_null()) return value;
  }
  return nullptr;
}

void read_number(const Json& fields, std::string_view name, std::optional<float>& to) {
  if (const Json* value = given(fields, {name})) to = static_cast<float>(value->as_double(name));
}

std::string early_stopping_word(const Json& value) {
  const std::string word =
      value.is_bool() ? (value.as_bool() ? "true" : "false") : value.as_string("early_stopping");
  for (const std::string& known : kEarlyStopping) {
    if (word == known) return word;
  }
  fail(
      ErrorCode::invalid_argument,
      fmt::format("early_stopping: expected false, true or \"never\", found {}", json_quote(word)));
}

EarlyStopping early_stopping_of(const std::string& word) {
  if (word == "never") return EarlyStopping::never;
  return word == "true" ? EarlyStopping::when_full : EarlyStopping::when_unlikely;
}

// The ids of the tags. A thought that is cut ends as the model itself ends one: the tag on a line
// of its own, and an empty line before the answer.
ThinkingTags thinking_tags(const Tokenizer& tokenizer, bool begins_inside, std::int64_t budget) {
  ThinkingTags tags;
  tags.open = tokenizer.encode("<think>");
  tags.close = tokenizer.encode("</think>");
  tags.begins_inside = begins_inside;
  tags.budget = budget;
  tags.forced_close = tokenizer.encode("\n");
  tags.forced_close.insert(tags.forced_close.end(), tags.close.begin(), tags.close.end());
  const std::vector<TokenId> end = tokenizer.encode("\n\n");
  tags.forced_close.insert(tags.forced_close.end(), end.begin(), end.end());
  return tags;
}

void require_room(const Request& request, std::int64_t context) {
  const auto prompt = static_cast<std::int64_t>(request.prompt.size());
  const auto most = request.config.new_token_limit(request.prompt.size());
  if (!most || prompt + *most <= context) return;
  fail(ErrorCode::invalid_argument,
       fmt::format("{} tokens of the prompt and {} of the answer are {}, and the context has {}: "
                   "shorten the prompt, or ask for at most {} tokens",
                   prompt, *most, prompt + *most, context,
                   std::max<std::int64_t>(0, context - prompt)));
}

}  // namespace

void MethodOptions::read(const Json& fields) {
  const auto integer = [&](std::initializer_list<std::string_view> names, std::int64_t low,
                           std::int64_t high, std::int64_t& to) {
    if (const Json* value = given(fields, names)) to = value->as_int_in(low, high, *names.begin());
  };
  integer({"n", "answers"}, 1, kMostAnswers, answers);
  integer({"beams", "num_beams"}, 1, kMostAnswers, beams);
  integer({"beam_groups", "num_beam_groups"}, 1, kMostAnswers, beam_groups);
  read_number(fields, "diversity_penalty", diversity_penalty);
  read_number(fields, "length_penalty", length_penalty);
  if (const Json* value = given(fields, {"early_stopping"})) {
    early_stopping = early_stopping_word(*value);
  }
  read_number(fields, "penalty_alpha", contrastive_alpha);
  if (given(fields, {"penalty_alpha"})) integer({"top_k"}, 1, INT32_MAX, contrastive_top_k);
  read_number(fields, "contrastive_alpha", contrastive_alpha);
  integer({"contrastive_top_k"}, 1, INT32_MAX, contrastive_top_k);
  if (const Json* value = given(fields, {"think_budget"})) {
    think_budget = value->as_int_in(0, INT32_MAX, "think_budget");
  }
  // OpenAI's pair is a switch and a number; alone, the number may stand in the switch's place.
  if (const Json* value = given(fields, {"logprobs"})) {
    const bool is_switch = value->is_bool();
    logprobs = is_switch ? (value->as_bool() ? 0 : -1) : value->as_int_in(0, kMostTop, "logprobs");
    if (is_switch && logprobs == 0) integer({"top_logprobs"}, 0, kMostTop, logprobs);
  }
}

void MethodOptions::apply_to(Request& request, const Tokenizer& tokenizer,
                             const std::optional<OutputParserOptions>& parser,
                             std::int64_t context) const {
  request.answers = answers;
  request.speculate = speculation;
  if (beams > 0) {
    BeamOptions search;
    search.beams = beams;
    search.groups = beam_groups;
    search.diversity_penalty = diversity_penalty.value_or(0.0f);
    search.length_penalty = length_penalty.value_or(1.0f);
    search.early_stopping = early_stopping_of(early_stopping);
    request.beams = search;
  }
  if (contrastive_alpha && *contrastive_alpha > 0) {
    request.contrastive = ContrastiveOptions{contrastive_top_k, *contrastive_alpha};
  }
  const bool is_search = request.beams || request.contrastive;
  if (is_search) request.config.sample = false;
  if (think_budget && (is_search || !parser)) {
    fail(ErrorCode::invalid_argument,
         "think_budget: thoughts are not bounded in beam and contrastive search, nor without a "
         "chat template");
  }
  if (parser && !is_search) {
    request.thinking =
        thinking_tags(tokenizer, parser->starts_in_reasoning, think_budget.value_or(-1));
  }
  request.log_probabilities = logprobs >= 0;
  request.top_log_probabilities = std::max<std::int64_t>(0, logprobs);
  if (at_limit == "error") require_room(request, context);
}

std::vector<Option> method_option_table(MethodOptions& target) {
  constexpr NumberRange kAny{-FLT_MAX, FLT_MAX};
  return {
      {.name = "answers",
       .value = "N",
       .help = "answers to the prompt; each has its own seed, or with --beams they are the best",
       .set = to_integer(target.answers, {1, kMostAnswers})},
      {.name = "beams",
       .value = "N",
       .help = "beam search with so many beams, instead of sampling",
       .set = to_integer(target.beams, {1, kMostAnswers})},
      {.name = "length-penalty",
       .value = "P",
       .help = "of beams: above 0 favours long answers, below 0 short ones (default 1)",
       .set = to_number(target.length_penalty, kAny)},
      {.name = "early-stopping",
       .value = "WHEN",
       .help = "beam search ends when no running beam is likely to win (false, default), when "
               "enough have ended (true), or when none can win (never)",
       .choices = kEarlyStopping,
       .set = to_choice(target.early_stopping, kEarlyStopping)},
      {.name = "beam-groups",
       .value = "N",
       .help = "groups of beams that avoid each other's tokens (default 1)",
       .set = to_integer(target.beam_groups, {1, kMostAnswers})},
      {.name = "diversity-penalty",
       .value = "P",
       .help = "what a token costs that earlier groups took (default 0)",
       .set = to_number(target.diversity_penalty, {0, FLT_MAX})},
      {.name = "contrastive-alpha",
       .value = "A",
       .help = "contrastive search: the weight of being unlike the text so far",
       .excludes = "beams",
       .set = to_number(target.contrastive_alpha, {0, 1})},
      {.name = "contrastive-top-k",
       .value = "K",
       .help = "candidates of contrastive search (default 4)",
       .set = to_integer(target.contrastive_top_k, {1, INT32_MAX})},
      {.name = "logprobs",
       .value = "N",
       .help = "with --json: log-probabilities of the tokens, and of the N likeliest beside each",
       .set = to_integer(target.logprobs, {0, kMostTop})},
  };
}

std::vector<Option> bound_option_table(MethodOptions& target, std::vector<std::string> at_limit) {
  return {
      {.name = "think-budget",
       .value = "N",
       .help = "tokens of a thought; at the limit it is closed, and the answer follows",
       .set =
           [&target](const std::string& text) {
             target.think_budget = parse_integer(text, {0, INT32_MAX});
           }},
      {.name = "speculation",
       .help = "guess tokens ahead and verify them together, or not; answers stay the same",
       .negation = "no-speculation",
       .set = to_flag(target.speculation)},
      {.name = "at-limit",
       .value = "WHAT",
       .help =
           "when the context is full: stop the answer there (default), refuse at once a prompt "
           "whose --max-tokens do not fit (error)" +
           std::string(at_limit.size() > 2 ? ", or leave out the oldest turns (drop-oldest)" : ""),
       .choices = at_limit,
       .set = to_choice(target.at_limit, at_limit)},
  };
}

}  // namespace linnet
