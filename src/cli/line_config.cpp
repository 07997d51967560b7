#include "cli/line_config.h"

#include <fmt/core.h>

#include <utility>

#include "engine/stop_rules.h"

namespace linnet {
namespace {

bool has(const Json& fields, std::string_view name) {
  const Json* value = name.empty() ? nullptr : fields.find(name);
  return value != nullptr && !value->is_null();
}

template <typename List>
void replace(List& base, List& own) {
  if (!own.empty()) base = std::move(own);
}

template <typename Value>
void replace(std::optional<Value>& base, std::optional<Value>& own) {
  if (own) base = std::move(own);
}

}  // namespace

GenerationConfig config_of_line(GenerationConfig base, const Json& fields) {
  GenerationConfig own = GenerationConfig::from_json(fields);
  for (const NumberField& field : number_fields()) {
    if (!has(fields, field.name) && !has(fields, field.other_name)) continue;
    // Of each pair only one may be given; the line's counts.
    if (field.name == "max_length") base.max_new_tokens = -1;
    if (field.name == "max_new_tokens") base.max_length = -1;
    if (field.name == "min_length") base.min_new_tokens = 0;
    if (field.name == "min_new_tokens") base.min_length = 0;
    field.set(base, field.get(own));
  }
  if (has(fields, "do_sample")) {
    base.sample = own.sample;
  } else if (has(fields, "temperature")) {
    base.sample = own.temperature > 0;
  } else if (has(fields, "top_p") || has(fields, "top_k") || has(fields, "min_p")) {
    base.sample = true;
  }
  replace(base.seed, own.seed);
  replace(base.stop_strings, own.stop_strings);
  replace(base.sequence_bias, own.sequence_bias);
  replace(base.dry_breaker_ids, own.dry_breaker_ids);
  replace(base.dry_breaker_texts, own.dry_breaker_texts);
  replace(base.suppress_tokens, own.suppress_tokens);
  replace(base.begin_suppress_tokens, own.begin_suppress_tokens);
  replace(base.forced_bos, own.forced_bos);
  replace(base.forced_eos, own.forced_eos);
  replace(base.forced_tokens, own.forced_tokens);
  replace(base.length_decay, own.length_decay);
  base.stop_ids = stop_id_union(base.stop_ids, own.stop_ids);
  return base;
}

Json choice_json(const Answer& answer, std::size_t index, const Tokenizer& tokenizer,
                 bool is_chat) {
  const ParsedOutput& output = answer.output;
  Json json = Json::object();
  json.set("index", index);
  if (is_chat) {
    Json message = Json::object();
    message.set("role", "assistant");
    message.set("content", output.content ? Json(*output.content) : Json());
    if (output.reasoning) message.set("reasoning_content", *output.reasoning);
    Json calls = Json::array();
    for (const ToolCall& call : output.tool_calls) {
      Json function = Json::object();
      function.set("name", call.name);
      function.set("arguments", call.arguments);
      Json entry = Json::object();
      entry.set("id", fmt::format("call_{}_{}", index, calls.size()));
      entry.set("type", "function");
      entry.set("function", std::move(function));
      calls.push_back(std::move(entry));
    }
    if (calls.size() > 0) message.set("tool_calls", std::move(calls));
    json.set("message", std::move(message));
  } else {
    json.set("text", output.content.value_or(""));
  }
  const auto& rows = answer.result.log_probabilities;
  Json logprobs;
  if (!rows.empty()) logprobs.set("content", log_probabilities_json(rows, tokenizer));
  json.set("logprobs", std::move(logprobs));
  json.set("finish_reason", output.finish);
  return json;
}

}  // namespace linnet
