#include "cli/answer.h"

#include "base/memory_account.h"
#include "cli/interrupt.h"

namespace linnet {
namespace {

// From events to the parts of an answer.
class AnswerReader {
 public:
  AnswerReader(const Tokenizer& tokenizer, const AnswerRequest& request)
      : tokenizer_(tokenizer), request_(request) {
    if (request.parser) parser_.emplace(*request.parser);
  }

  void read(const TokenEvent& event) {
    if (!parser_) {
      plain_ += event.text;
      if (!event.text.empty()) deliver({{OutputKind::content, std::string(event.text), {}}});
      return;
    }
    if (is_special_tag(event.id)) deliver(parser_->push(tokenizer_.token_bytes(event.id)));
    deliver(parser_->push(event.text));
  }

  ParsedOutput finish(FinishReason reason) {
    ParsedOutput output;
    if (parser_) {
      const bool stopped = reason == FinishReason::stop;
      deliver(parser_->finish(stopped ? OutputEnd::stop : OutputEnd::length));
      output = parser_->result();
    } else {
      output.content = std::move(plain_);
      output.finish = finish_reason_name(reason);
    }
    if (reason == FinishReason::cancelled) output.finish = finish_reason_name(reason);
    return output;
  }

 private:
  // Special tokens come without a text; where the tags are such, the parser needs theirs. (An id
  // may have no token: a model's table can be longer than the vocabulary.)
  bool is_special_tag(TokenId id) const {
    return id < tokenizer_.size() && tokenizer_.is_special(id) &&
           is_output_tag(tokenizer_.token_bytes(id));
  }

  void deliver(const std::vector<OutputDelta>& deltas) {
    if (!request_.sink) return;
    for (const OutputDelta& delta : deltas) request_.sink(delta);
  }

  const Tokenizer& tokenizer_;
  const AnswerRequest& request_;
  std::optional<OutputParser> parser_;
  std::string plain_;
};

}  // namespace

Answer generate_answer(Generator& generator, const AnswerRequest& request) {
  AnswerReader reader(generator.tokenizer(), request);
  GenerateOptions options;
  options.cancel = &interrupt_flag();
  options.on_token = [&](const TokenEvent& event) { reader.read(event); };
  if (request.on_prefill) {
    options.on_prefill = [&](std::int64_t done, std::int64_t total) {
      request.on_prefill(static_cast<double>(done) / static_cast<double>(total));
    };
  }
  Answer answer;
  answer.result = generator.generate(request.prompt, request.config, options);
  answer.output = reader.finish(answer.result.finish);
  return answer;
}

Json result_json(const GenerationResult& result) {
  Json json = Json::object();
  json.set("prompt_tokens", result.prompt_tokens);
  json.set("cached_tokens", result.cached_tokens);
  json.set("completion_tokens", result.ids.size());
  json.set("seed", result.seed);
  return json;
}

Json memory_json() {
  Json memory = Json::object();
  for (const MemoryAccount* account : MemoryAccount::all()) {
    Json numbers = Json::object();
    numbers.set("active_bytes", account->active());
    numbers.set("peak_bytes", account->peak());
    numbers.set("cached_bytes", account->cached());
    memory.set(account->name(), std::move(numbers));
  }
  return memory;
}

}  // namespace linnet
