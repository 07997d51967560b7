#include "cli/answer.h"

#include <cmath>
#include <utility>

#include "base/memory_account.h"
#include "cli/interrupt.h"
#include "cli/output_record.h"
#include "cli/task_records.h"

namespace linnet {
namespace {

// More would show the progress of the prompt less often.
constexpr std::int64_t kPromptRows = 256;

Json token_json(const TokenLogProb& token, const Tokenizer& tokenizer) {
  const std::string_view text =
      token.id < tokenizer.size() ? tokenizer.token_bytes(token.id) : std::string_view();
  Json bytes = Json::array();
  for (const char c : text) bytes.push_back(static_cast<int>(static_cast<unsigned char>(c)));
  Json json = Json::object();
  json.set("token", text);
  json.set("id", token.id);
  // JSON has no infinity; OpenAI writes this number for what is next to impossible.
  json.set("logprob", std::isfinite(token.log_probability) ? json_float(token.log_probability)
                                                           : Json(-9999.0));
  json.set("bytes", std::move(bytes));
  return json;
}

}  // namespace

AnswerReader::AnswerReader(const Tokenizer& tokenizer,
                           const std::optional<OutputParserOptions>& parser, AnswerSink sink)
    : tokenizer_(&tokenizer), sink_(std::move(sink)) {
  if (parser) parser_.emplace(*parser);
}

void AnswerReader::read(const TokenEvent& event) {
  if (!parser_) {
    plain_ += event.text;
    if (!event.text.empty()) deliver({{OutputKind::content, std::string(event.text), {}}});
    return;
  }
  if (is_special_tag(event.id)) deliver(parser_->push(tokenizer_->token_bytes(event.id)));
  deliver(parser_->push(event.text));
}

Answer AnswerReader::finish(GenerationResult result) {
  const FinishReason reason = result.finish;
  Answer answer;
  answer.result = std::move(result);
  if (parser_) {
    const bool stopped = reason == FinishReason::stop;
    deliver(parser_->finish(stopped ? OutputEnd::stop : OutputEnd::length));
    answer.output = parser_->result();
  } else {
    answer.output.content = std::move(plain_);
    answer.output.finish = finish_reason_name(reason);
  }
  if (reason == FinishReason::cancelled) answer.output.finish = finish_reason_name(reason);
  return answer;
}

// Special tokens come without a text; where the tags are such, the parser needs theirs. (An id may
// have no token: a model's table can be longer than the vocabulary.)
bool AnswerReader::is_special_tag(TokenId id) const {
  return id < tokenizer_->size() && tokenizer_->is_special(id) &&
         is_output_tag(tokenizer_->token_bytes(id));
}

void AnswerReader::deliver(const std::vector<OutputDelta>& deltas) const {
  if (!sink_) return;
  for (const OutputDelta& delta : deltas) sink_(delta);
}

std::vector<Answer> generate_answers(Generator& generator, AnswerRequest request) {
  std::vector<AnswerReader> readers;
  for (std::int64_t i = 0; i < request.request.answers; ++i) {
    readers.emplace_back(generator.tokenizer(), request.parser,
                         i == 0 ? request.sink : AnswerSink());
  }
  request.request.cancel = &interrupt_flag();
  request.request.prompt_rows = kPromptRows;
  request.request.on_token = [&](const TokenEvent& event) {
    readers[static_cast<std::size_t>(event.answer)].read(event);
  };
  if (request.on_prefill) {
    request.request.on_prefill = [&](std::int64_t done, std::int64_t total) {
      request.on_prefill(static_cast<double>(done) / static_cast<double>(total));
    };
  }
  RequestResult result = generator.run(request.request);
  std::vector<Answer> answers;
  for (std::size_t i = 0; i < result.answers.size(); ++i) {
    answers.push_back(readers[i].finish(std::move(result.answers[i])));
  }
  return answers;
}

Json result_json(const GenerationResult& result) {
  Json json = Json::object();
  json.set("prompt_tokens", result.prompt_tokens);
  json.set("cached_tokens", result.cached_tokens);
  json.set("completion_tokens", result.ids.size());
  json.set("reasoning_tokens", result.reasoning_tokens);
  json.set("drafted_tokens", result.drafted_tokens);
  json.set("accepted_tokens", result.accepted_tokens);
  json.set("seed", result.seed);
  return json;
}

Json answer_json(const Answer& answer, const Tokenizer& tokenizer) {
  Json json = Json::object();
  json.set("finish", answer.output.finish);
  json.set("text", answer.output.content.value_or(""));
  json.set("reasoning", answer.output.reasoning.value_or(""));
  json.set("tool_calls", tool_calls_json(answer.output.tool_calls));
  json.set("parse_error", answer.output.parse_error);
  const GenerationResult& result = answer.result;
  if (!result.log_probabilities.empty()) {
    json.set("logprobs", log_probabilities_json(result.log_probabilities, tokenizer));
  }
  if (!result.beam_rows.empty()) json.set("score", json_float(result.score));
  return json;
}

Json log_probabilities_json(const std::vector<RowLogProbs>& rows, const Tokenizer& tokenizer) {
  Json list = Json::array();
  for (const RowLogProbs& row : rows) {
    Json json = token_json(row.chosen, tokenizer);
    Json top = Json::array();
    for (const TokenLogProb& token : row.top) top.push_back(token_json(token, tokenizer));
    json.set("top_logprobs", std::move(top));
    list.push_back(std::move(json));
  }
  return list;
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
