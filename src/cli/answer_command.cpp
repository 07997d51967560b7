#include "cli/answer_command.h"

#include <fmt/core.h>

#include <memory>
#include <span>
#include <utility>

#include "base/error.h"
#include "cli/interrupt.h"
#include "cli/task_options.h"
#include "cli/task_records.h"
#include "engine/question_answering.h"

namespace linnet {
namespace {

struct AnswerFlags {
  TaskFlags task;
  HeadFlags head;
  std::optional<std::string> question, context;
  std::string rule = "best";
  QuestionOptions options;
};

const std::vector<std::string> kRules = {"best", "independent"};

class AnswerWork : public TaskWork {
 public:
  // The question of rows that are contexts only.
  AnswerWork(QuestionAnswerer answerer, std::optional<std::string> question)
      : answerer_(std::move(answerer)), question_(std::move(question)) {}

  void add(const TaskRow& row) override {
    if (row.second) {
      questions_.push_back(answerer_.prepare({row.first, *row.second}));
    } else {
      questions_.push_back(answerer_.prepare({question_.value_or(""), row.first}));
    }
  }

  std::vector<TaskResult> run() override {
    const auto questions = std::exchange(questions_, {});
    std::vector<TaskResult> results;
    for (const QuestionResult& found :
         answerer_.answer(std::span<const QuestionAnswerer::Prepared>(questions))) {
      TaskResult result;
      Json answers = Json::array();
      for (const SpanAnswer& one : found.answers) {
        answers.push_back(answer_json(one));
        result.lines.push_back(one.none ? fmt::format("{:.4f}  (no answer)", one.score)
                                        : fmt::format("{:.4f}  {:>5}-{:<5}  {}", one.score,
                                                      one.range.begin, one.range.end,
                                                      one_line(one.text)));
      }
      result.fields.set("answers", std::move(answers));
      result.fields.set("tokens", found.tokens);
      result.fields.set("windows", found.windows);
      results.push_back(std::move(result));
    }
    return results;
  }

 private:
  static Json answer_json(const SpanAnswer& answer) {
    Json json = Json::object();
    json.set("text", answer.text);
    json.set("score", json_float(answer.score));
    if (answer.none) {
      json.set("none", true);
    } else {
      set_range(json, answer.range);
    }
    return json;
  }

  QuestionAnswerer answerer_;
  std::optional<std::string> question_;
  std::vector<QuestionAnswerer::Prepared> questions_;
};

int run_answer(CommandContext& context, AnswerFlags flags) {
  std::vector<TaskRow> given;
  if (flags.context) {
    if (!flags.question) throw UsageError("--context needs the QUESTION");
    given.push_back({.first = *flags.question, .second = flags.context});
  }
  RowFields fields{"question", "context", true};
  if (flags.question) {
    // Files and standard input are contexts then.
    flags.task.input.whole = true;
    fields = {"context", "", false};
  } else if (!flags.task.input.jsonl && flags.task.input.files.empty()) {
    throw UsageError("the QUESTION is missing: give it as an argument, or rows with --jsonl");
  } else {
    flags.task.input.jsonl = true;
  }
  TaskSource source(std::move(given), flags.task.input, fields, context.terminal());
  const TaskModel opened = open_task_model(context, TaskHead::question_answering, flags.head);
  flags.options.rule = flags.rule == "best" ? SpanRule::best : SpanRule::independent;
  flags.options.trust_text = context.globals.trust_user_tokens;
  flags.options.limits = flags.task.limits();
  flags.options.cancel = &interrupt_flag();
  AnswerWork work(QuestionAnswerer(opened.model, opened.tokenizer, flags.options), flags.question);
  return run_task(context, source, work, flags.task.output());
}

}  // namespace

Command make_answer_command() {
  auto flags = std::make_shared<AnswerFlags>();
  Command command;
  command.name = "answer";
  command.summary = "Find the answer to a question in a text, with a question answering head";
  command.details =
      "The text is --context, or each file of --input, or standard input. Without a QUESTION the "
      "input is JSON rows {\"question\": ..., \"context\": ..., \"id\": ...}. An answer is a part "
      "of the text, with its place in bytes (start, end) and in characters; its score is the "
      "probability of its first token times that of its last. (linnet run lets a chat model answer "
      "in its own words.)";
  command.examples = {"linnet answer -m FOLDER \"Who wrote it?\" --context \"Ada wrote it.\"",
                      "linnet answer -m FOLDER \"When?\" --top 3 < article.txt",
                      "linnet answer -m FOLDER --impossible --input rows.jsonl > answers.jsonl"};
  command.argument =
      Argument{.name = "QUESTION", .help = "the question", .set = to_text(flags->question)};
  command.options = {
      {.name = "context",
       .value = "TEXT",
       .help = "the text that holds the answer",
       .excludes = "input",
       .set = to_text(flags->context)},
      {.name = "top",
       .value = "N",
       .help = "answers of each question, best first (default 1)",
       .set = to_integer(flags->options.top, {1, 10000})},
      {.name = "max-answer",
       .value = "N",
       .help = "tokens of an answer (default 30)",
       .set = to_integer(flags->options.most_tokens, {1, INT32_MAX})},
      {.name = "rule",
       .value = "RULE",
       .help = "the best span that does not end before it begins (default), or the most probable "
               "start and end on their own",
       .choices = kRules,
       .set = to_choice(flags->rule, kRules)},
      {.name = "impossible",
       .help = "let \"no answer\" be one of the answers",
       .set = to_flag(flags->options.impossible)},
      init_head_option(flags->head),
  };
  append_options(command.options,
                 window_option_table(flags->options.window, flags->options.stride));
  append_options(command.options, task_option_table(flags->task));
  command.run = [flags](CommandContext& context) { return run_answer(context, *flags); };
  return command;
}

}  // namespace linnet
