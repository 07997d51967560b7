#include "cli/batch_job.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/checksum.h"
#include "base/random.h"
#include "cli/line_config.h"
#include "cli/output_record.h"
#include "text/length_buckets.h"
#include "text/message_list.h"

namespace linnet {
namespace {

std::uint64_t checksum_of(std::string_view text) {
  return checksum64(std::as_bytes(std::span(text)));
}

// A seed for each line, so that equal prompts are answered differently. 53 bits, which any JSON
// reader keeps.
std::uint64_t seed_of_line(std::uint64_t seed, std::int64_t line) {
  const auto number = static_cast<std::uint64_t>(line);
  const auto words =
      threefry2x32(RandomKey::from_seed(seed), static_cast<std::uint32_t>(number >> 32),
                   static_cast<std::uint32_t>(number));
  return (static_cast<std::uint64_t>(words[0]) << 32 | words[1]) & ((std::uint64_t{1} << 53) - 1);
}

std::string id_text(const Json& line, std::string_view field) {
  const Json* id = line.find(field);
  if (id == nullptr || id->is_null()) return "";
  if (!id->is_string() && !id->is_int()) {
    fail(ErrorCode::invalid_argument,
         fmt::format("{}: expected a string or a whole number, found {}", field, id->type_name()));
  }
  return id->dump();
}

// What OpenAI's API has and means something else here is refused, not forgotten.
void check_openai(const Json& line) {
  const Json* method = line.find("method");
  if (method != nullptr && method->as_string("method") != "POST") {
    fail(ErrorCode::unsupported, fmt::format("method: expected POST, found {}", method->dump()));
  }
  const std::string& url = line.at("url").as_string("url");
  if (url != "/v1/chat/completions" && url != "/v1/completions") {
    fail(ErrorCode::unsupported,
         fmt::format("url: expected /v1/chat/completions or /v1/completions, found {}",
                     json_quote(url)));
  }
  const Json& body = line.at("body");
  body.as_object("body");
  const Json* format = body.find("response_format");
  if (format != nullptr && !format->is_null() && format->at("type") != Json("text")) {
    fail(ErrorCode::unsupported, "response_format: only the type \"text\" is supported");
  }
  const Json* choice = body.find("tool_choice");
  if (choice != nullptr && !choice->is_null() && *choice != Json("auto") &&
      *choice != Json("none")) {
    fail(ErrorCode::unsupported, "tool_choice: only \"auto\" and \"none\" are supported");
  }
}

}  // namespace

std::uint64_t BatchSettings::checksum() const {
  std::string text = fmt::format("{}\n{}\n{}\n{}\n", model, other, system, prompt.tools.dump());
  for (const NumberField& field : number_fields()) text += fmt::format("{} ", field.get(config));
  for (const std::string& stop : config.stop_strings) text += json_quote(stop);
  const auto number = [](const std::optional<float>& value) {
    return value ? fmt::format("{}", *value) : std::string("-");
  };
  text += fmt::format("\n{} {} {} {} {} {} {} {} {} {} {} {}", config.sample, method.answers,
                      method.beams, method.beam_groups, number(method.diversity_penalty),
                      number(method.length_penalty), method.early_stopping,
                      number(method.contrastive_alpha), method.contrastive_top_k,
                      method.think_budget.value_or(-1), method.logprobs, method.at_limit);
  const int think = prompt.think ? static_cast<int>(*prompt.think) : -1;
  text += fmt::format("\n{} {} {} {} {} {} {}", think, static_cast<int>(prompt.tool_tags),
                      prompt.close_system_turn, prompt.trust_user_tokens, raw, seed,
                      fmt::join(pad_to, ","));
  return checksum_of(text);
}

BatchJob::BatchJob(const BatchSettings& settings, std::uint64_t settings_checksum,
                   std::int64_t number, std::string line)
    : settings_(settings), number_(number), line_(std::move(line)) {
  checksum_ = checksum_of(line_) ^ settings_checksum;
  try {
    json_ = Json::parse(line_, "line");
    if (!json_.is_object()) {
      fail(ErrorCode::invalid_argument,
           fmt::format("line: expected an object, found {}", json_.type_name()));
    }
    is_openai_ = json_.find("custom_id") != nullptr || json_.find("body") != nullptr;
    id_ = id_text(json_, is_openai_ ? "custom_id" : "id");
  } catch (const Error& error) {
    fault_ = error;
  }
}

// The object that holds prompt and parameters.
Json BatchJob::fields() const {
  if (!is_openai_) return json_;
  check_openai(json_);
  Json fields = json_.at("body");
  if (json_.at("url") == Json("/v1/completions")) fields.set("raw", true);
  if (const Json* most = fields.find("max_completion_tokens")) fields.set("max_tokens", *most);
  if (const Json* choice = fields.find("tool_choice"); choice && *choice == Json("none")) {
    fields.set("tools", Json::array());
  }
  return fields;
}

PromptSettings BatchJob::prompt_settings(const Json& fields) const {
  PromptSettings settings = settings_.prompt;
  const Json* think = fields.find("think");
  const Json* extra = fields.find("chat_template_kwargs");
  if (think == nullptr && extra != nullptr) think = extra->find("enable_thinking");
  if (think != nullptr && !think->is_null()) settings.think = think->as_bool("think");
  if (const Json* tools = fields.find("tools"); tools != nullptr && !tools->is_null()) {
    check_tools(*tools, "tools");
    settings.tools = tools->size() == 0 ? Json() : *tools;
  }
  return settings;
}

void BatchJob::read_prompt(const Json& fields, Request& request) {
  const auto has = [&](std::string_view name) {
    const Json* value = fields.find(name);
    return value != nullptr && !value->is_null();
  };
  if (has("prompt") + has("messages") + has("ids") != 1) {
    fail(ErrorCode::invalid_argument,
         "line: expected one of the fields \"prompt\", \"messages\" and \"ids\"");
  }
  const Assistant& assistant = *settings_.assistant;
  if (has("ids")) {
    for (const Json& id : fields.at("ids").as_array("ids")) {
      request.prompt.push_back(static_cast<TokenId>(id.as_int_in(0, kMaxTokenId, "ids")));
    }
    return;
  }
  const bool raw = has("raw") ? fields.at("raw").as_bool("raw") : settings_.raw;
  if (has("prompt") && raw) {
    EncodeOptions encode;
    encode.add_special_tokens = true;
    request.prompt = assistant.tokenizer->encode(fields.at("prompt").as_string("prompt"), encode);
    return;
  }
  ChatPrompt made;
  if (has("messages")) {
    made = make_chat_prompt(assistant, fields.at("messages"), prompt_settings(fields));
  } else {
    Conversation conversation;
    conversation.set_system(settings_.system);
    conversation.add_user(fields.at("prompt").as_string("prompt"));
    made = make_chat_prompt(assistant, conversation, prompt_settings(fields));
  }
  request.prompt = std::move(made.ids);
  parser_ = made.parser;
}

Request BatchJob::make_request() {
  if (fault_) throw *fault_;
  const Json fields = this->fields();
  Request request;
  read_prompt(fields, request);
  padding_of(request.prompt.size());
  request.config = config_of_line(settings_.config, fields);
  if (!request.config.seed) request.config.seed = seed_of_line(settings_.seed, number_);
  const Tokenizer& tokenizer = *settings_.assistant->tokenizer;
  request.config.resolve_texts(tokenizer);
  MethodOptions method = settings_.method;
  method.read(fields);
  method.apply_to(request, tokenizer, parser_, settings_.assistant->model->context());
  const Json* echo = fields.find("echo");
  request.echo = echo != nullptr && !echo->is_null() && echo->as_bool("echo");
  request.prompt_log_probabilities = request.echo && request.log_probabilities;
  sequences_ = std::max(method.answers, method.beams);
  if (request.contrastive) sequences_ = request.contrastive->top_k;
  for (std::int64_t i = 0; i < request.answers; ++i) readers_.emplace_back(tokenizer, parser_);
  request.on_token = [this](const TokenEvent& event) {
    readers_[static_cast<std::size_t>(event.answer)].read(event);
  };
  return request;
}

std::int64_t BatchJob::padding_of(std::size_t tokens) const {
  if (settings_.pad_to.empty()) return 0;
  const auto batches = bucket_by_length({&tokens, 1}, settings_.pad_to, 1);
  return static_cast<std::int64_t>(batches.front().length - tokens);
}

Json BatchJob::head() const {
  Json json = Json::object();
  json.set("line", number_);
  if (!id_.empty()) json.set(is_openai_ ? "custom_id" : "id", Json::parse(id_, "id"));
  json.set("checksum", fmt::format("{:016x}", checksum_));
  return json;
}

std::string BatchJob::record(RequestResult result) {
  std::vector<Answer> answers;
  for (std::size_t i = 0; i < result.answers.size(); ++i) {
    answers.push_back(readers_[i].finish(std::move(result.answers[i])));
  }
  Json json = head();
  if (is_openai_) {
    for (Answer& answer : answers) {
      if (result.prompt_text.empty()) continue;
      answer.output.content = result.prompt_text + answer.output.content.value_or("");
      auto& rows = answer.result.log_probabilities;
      rows.insert(rows.begin(), result.prompt_log_probabilities.begin(),
                  result.prompt_log_probabilities.end());
    }
    Json response = Json::object();
    response.set("status_code", 200);
    response.set("body", completion(answers));
    json.set("response", std::move(response));
    json.set("error", nullptr);
    return json.dump();
  }
  const auto input = answers.empty() ? 0 : answers.front().result.prompt_tokens;
  const Json body = native_answers(answers, padding_of(static_cast<std::size_t>(input)));
  for (const auto& [key, value] : body.as_object()) json.set(key, value);
  if (!result.prompt_text.empty()) json.set("prompt_text", result.prompt_text);
  if (!result.prompt_log_probabilities.empty()) {
    json.set("prompt_logprobs", log_probabilities_json(result.prompt_log_probabilities,
                                                       *settings_.assistant->tokenizer));
  }
  return json.dump();
}

std::string BatchJob::record(const Error& error) const {
  Json json = head();
  Json fault = Json::object();
  fault.set("code", error_code_name(error.code()));
  fault.set("message", error.what());
  if (is_openai_) json.set("response", nullptr);
  json.set("error", std::move(fault));
  return json.dump();
}

Json BatchJob::native_answers(const std::vector<Answer>& answers, std::int64_t padding) const {
  const Tokenizer& tokenizer = *settings_.assistant->tokenizer;
  Json list = Json::array();
  std::size_t output = 0;
  for (const Answer& answer : answers) {
    Json json = answer_json(answer, tokenizer);
    json.set("reasoning_tokens", answer.result.reasoning_tokens);
    json.set("seed", answer.result.seed);
    output += answer.result.ids.size();
    list.push_back(std::move(json));
  }
  Json tokens = Json::object();
  tokens.set("input", answers.front().result.prompt_tokens);
  tokens.set("output", output);
  tokens.set("padding", padding);
  Json json = Json::object();
  if (answers.size() == 1) {
    json = list.as_array().front();
  } else {
    json.set("answers", std::move(list));
  }
  json.set("tokens", std::move(tokens));
  return json;
}

Json BatchJob::completion(const std::vector<Answer>& answers) const {
  const bool is_chat = json_.at("url") == Json("/v1/chat/completions");
  Json choices = Json::array();
  std::size_t output = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    choices.push_back(choice_json(answers[i], i, *settings_.assistant->tokenizer, is_chat));
    output += answers[i].result.ids.size();
  }
  const auto input = static_cast<std::size_t>(answers.front().result.prompt_tokens);
  Json usage = Json::object();
  usage.set("prompt_tokens", input);
  usage.set("completion_tokens", output);
  usage.set("total_tokens", input + output);
  Json json = Json::object();
  json.set("id", fmt::format("{}-{}", is_chat ? "chatcmpl" : "cmpl", number_));
  json.set("object", is_chat ? "chat.completion" : "text_completion");
  json.set("created", 0);  // the same line gives the same record
  json.set("model", settings_.model);
  json.set("choices", std::move(choices));
  json.set("usage", std::move(usage));
  return json;
}

}  // namespace linnet
