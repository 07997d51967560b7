#include "cli/answer.h"

#include <optional>

#include "base/memory_account.h"
#include "cli/interrupt.h"

namespace linnet {
namespace {

// The tags as tokens, where the tokenizer has them.
struct ThinkTokens {
  std::optional<TokenId> open;
  std::optional<TokenId> close;
  bool hidden = false;  // special tokens never come as text

  static ThinkTokens of(const Tokenizer& tokenizer) {
    ThinkTokens tokens{tokenizer.find("<think>"), tokenizer.find("</think>")};
    tokens.hidden = tokens.both() && tokenizer.is_special(*tokens.open);
    return tokens;
  }
  bool both() const { return open.has_value() && close.has_value(); }
  bool holds(TokenId id) const { return both() && (id == *open || id == *close); }
};

}  // namespace

Answer generate_answer(Generator& generator, const AnswerRequest& request) {
  Answer answer;
  const auto collect = [&](AnswerPart part, std::string_view text) {
    (part == AnswerPart::answer ? answer.text : answer.reasoning) += text;
    if (request.sink) request.sink(part, text);
  };
  const ThinkTokens tokens = ThinkTokens::of(generator.tokenizer());
  ThinkSplitter splitter(collect, {request.in_reasoning, tokens.both()});

  GenerateOptions options;
  options.cancel = &interrupt_flag();
  std::size_t shown = 0;
  options.on_token = [&](const TokenEvent& event) {
    shown += event.text.size();
    if (!request.split) return collect(AnswerPart::answer, event.text);
    if (tokens.holds(event.id)) tokens.hidden ? splitter.pass_tag() : splitter.expect_tag();
    splitter.feed(event.text);
  };
  if (request.on_prefill) {
    options.on_prefill = [&](std::int64_t done, std::int64_t total) {
      request.on_prefill(static_cast<double>(done) / static_cast<double>(total));
    };
  }
  answer.result = generator.generate(request.prompt, request.config, options);
  // Text that waited for a character's end or a stop string comes with the result only.
  const std::string_view rest = std::string_view(answer.result.text).substr(shown);
  if (request.split) {
    splitter.feed(rest);
    splitter.finish();
  } else if (!rest.empty()) {
    collect(AnswerPart::answer, rest);
  }
  return answer;
}

Json result_json(const GenerationResult& result) {
  Json json = Json::object();
  json.set("prompt_tokens", result.prompt_tokens);
  json.set("cached_tokens", result.cached_tokens);
  json.set("completion_tokens", result.ids.size());
  json.set("finish", finish_reason_name(result.finish));
  json.set("seed", result.seed);
  return json;
}

Json memory_json() {
  Json memory = Json::object();
  for (const MemoryAccount* account : MemoryAccount::all()) {
    Json numbers = Json::object();
    numbers.set("active_bytes", account->active());
    numbers.set("peak_bytes", account->peak());
    memory.set(account->name(), std::move(numbers));
  }
  return memory;
}

}  // namespace linnet
