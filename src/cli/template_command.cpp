#include <fmt/core.h>

#include <memory>

#include "base/log.h"
#include "cli/answer_options.h"
#include "cli/command.h"
#include "cli/id_list.h"
#include "cli/open_model.h"
#include "cli/text_input.h"
#include "text/chat_encode.h"

namespace linnet {
namespace {

struct TemplateFlags {
  std::optional<std::string> messages;
  std::optional<std::string> tools;
  std::optional<bool> think;
  std::optional<CivilTime> date;
  bool no_generation_prompt = false;
  bool drop_thoughts = false;
  bool close_system_turn = false;
  bool ids = false;
  bool spans = false;
  bool json = false;
};

bool is_leap_year(int year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

// "2025-07-08"
CivilTime parse_date(const std::string& text) {
  static constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const auto refuse = [&] {
    throw UsageError(fmt::format("expected a date as YYYY-MM-DD, found {}", json_quote(text)));
  };
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') refuse();
  for (const std::size_t i : {0, 1, 2, 3, 5, 6, 8, 9}) {
    if (text[i] < '0' || text[i] > '9') refuse();
  }
  CivilTime time;
  time.year = std::stoi(text.substr(0, 4));
  time.month = std::stoi(text.substr(5, 2));
  time.day = std::stoi(text.substr(8, 2));
  if (time.year < 1 || time.month < 1 || time.month > 12 || time.day < 1) refuse();
  const int extra = time.month == 2 && is_leap_year(time.year) ? 1 : 0;
  if (time.day > kDays[time.month - 1] + extra) refuse();
  return time;
}

// {"messages": [...]} as /save writes it, or the array alone.
Json messages_of(Json json) {
  if (const Json* messages = json.find("messages")) return *messages;
  return json;
}

void print_spans(Output& out, const char* kind, const std::vector<Span>& spans,
                 const std::string& text) {
  for (const Span& span : spans) {
    const std::string content = json_quote(text.substr(span.begin, span.end - span.begin));
    out.foreign(fmt::format("{}\t{}\t{}\t{}\n", kind, span.begin, span.end, content));
  }
}

Json spans_json(const auto& spans) {
  Json list = Json::array();
  for (const auto& span : spans) list.push_back(Json::Array{Json(span.begin), Json(span.end)});
  return list;
}

const char* thinking_word(ThinkingState state) {
  if (state == ThinkingState::none) return "none";
  return state == ThinkingState::open ? "open" : "closed";
}

// The prompt, its ids with the bytes of each, and who wrote what.
Json prompt_json(const Prompt& prompt, const Encoding& encoding) {
  Json ids = Json::array();
  for (const TokenId id : encoding.ids) ids.push_back(id);
  Json json = Json::object();
  json.set("prompt", prompt.text);
  json.set("ids", std::move(ids));
  json.set("spans", spans_json(encoding.spans));
  json.set("input_spans", spans_json(prompt.input_spans));
  json.set("generation_spans", spans_json(prompt.generation_spans));
  json.set("thinking", thinking_word(prompt.thinking));
  return json;
}

ChatOptions chat_options(const TemplateFlags& flags) {
  ChatOptions options;
  options.add_generation_prompt = !flags.no_generation_prompt;
  options.enable_thinking = flags.think;
  options.now = flags.date;
  options.drop_thoughts = flags.drop_thoughts;
  options.close_system_turn = flags.close_system_turn;
  return options;
}

void print_prompt(CommandContext& context, const Prompt& prompt, const Tokenizer& tokenizer,
                  const TemplateFlags& flags) {
  const bool trust = context.globals.trust_user_tokens;
  if (flags.json) {
    const Encoding encoding = encode_prompt_with_offsets(tokenizer, prompt, trust);
    context.out.line(prompt_json(prompt, encoding).dump());
  } else if (flags.spans) {
    print_spans(context.out, "input", prompt.input_spans, prompt.text);
    print_spans(context.out, "generation", prompt.generation_spans, prompt.text);
  } else if (flags.ids) {
    context.out.line(ids_text(encode_prompt(tokenizer, prompt, trust)));
  } else {
    context.out.foreign(prompt.text);
  }
}

int run_template(CommandContext& context, const TemplateFlags& flags) {
  const Json messages =
      messages_of(json_input(flags.messages, context.terminal(), "the messages file"));
  const Json tools = read_tools(flags.tools);
  const ModelFiles files =
      open_model_files(chosen_model(context.globals), open_options(context.globals));
  const auto tokenizer = files.load_tokenizer();
  const ChatOptions options = chat_options(flags);
  const ChatTemplate chat_template = open_chat_template(files);
  const Prompt prompt = chat_template.render(messages, tools, options);
  // Many templates know nothing of tools; whoever gives some should not look for them in vain.
  if (flags.tools && prompt.text == chat_template.render(messages, Json(), options).text) {
    log_warn("the chat template of this model makes nothing of --tools");
  }
  print_prompt(context, prompt, *tokenizer, flags);
  return 0;
}

}  // namespace

Command make_template_command() {
  auto flags = std::make_shared<TemplateFlags>();
  Command command;
  command.name = "template";
  command.summary = "Print the prompt that the chat template makes of messages";
  command.details =
      "The messages are JSON, an array or an object with the field \"messages\", in a file or on "
      "standard input (\"-\"). The prompt is printed as it is, without a newline added. All ranges "
      "count bytes, the end not among them.";
  command.examples = {"linnet template chat.json", "linnet template --tools tools.json chat.json",
                      "echo '[{\"role\":\"user\",\"content\":\"Hi\"}]' | linnet template --ids"};
  command.argument = Argument{.name = "FILE",
                              .help = "the messages; - or none: standard input",
                              .is_path = true,
                              .set = to_path(flags->messages)};
  command.options = {
      {.name = "tools",
       .value = "FILE",
       .help = "JSON array of tool descriptions",
       .is_path = true,
       .set = to_path(flags->tools)},
      {.name = "think",
       .help = "with or without thinking (default: as the template says)",
       .negation = "no-think",
       .set = to_flag(flags->think)},
      {.name = "no-generation-prompt",
       .help = "end after the last message",
       .set = to_flag(flags->no_generation_prompt)},
      {.name = "date",
       .value = "YYYY-MM-DD",
       .help = "today's date for the template (default: the clock's)",
       .set = [flags](const std::string& text) { flags->date = parse_date(text); }},
      {.name = "drop-thoughts",
       .help = "leave the thoughts of earlier answers out",
       .set = to_flag(flags->drop_thoughts)},
      {.name = "close-system-turn",
       .help = "end a system turn that the template leaves open (SmolLM3's does without tools)",
       .set = to_flag(flags->close_system_turn)},
      {.name = "ids", .help = "print token ids instead", .set = to_flag(flags->ids)},
      {.name = "spans",
       .help = "print which bytes came from the messages, and which are the model's turns",
       .excludes = "ids",
       .set = to_flag(flags->spans)},
      {.name = "json",
       .help = "print a JSON record: prompt, ids, the bytes of each id, and whose bytes they are",
       .set = to_flag(flags->json)},
  };
  command.run = [flags](CommandContext& context) { return run_template(context, *flags); };
  return command;
}

}  // namespace linnet
