#include "cli/tag_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "cli/interrupt.h"
#include "cli/task_options.h"
#include "cli/task_records.h"
#include "engine/tag.h"

namespace linnet {
namespace {

struct TagFlags {
  TaskFlags task;
  HeadFlags head;
  std::string aggregation = "same";
  std::vector<std::string> ignored;
  TagOptions options;
};

// In the order of Aggregation.
const std::vector<std::string> kAggregations = {"none", "same", "word_first", "word_average",
                                                "word_max"};

Json entity_json(const Entity& entity) {
  Json json = Json::object();
  json.set("label", entity.label);
  json.set("score", json_float(entity.score));
  json.set("phrase", entity.phrase);
  set_range(json, entity.range);
  return json;
}

class TagWork : public TaskWork {
 public:
  explicit TagWork(TextTagger tagger) : tagger_(std::move(tagger)) {}

  void add(const TaskRow& row) override { texts_.push_back(tagger_.prepare(row.first)); }

  std::vector<TaskResult> run() override {
    const auto texts = std::exchange(texts_, {});
    std::vector<TaskResult> results;
    for (const Tagging& found : tagger_.tag(std::span<const TextTagger::Prepared>(texts))) {
      TaskResult result;
      std::size_t width = 0;
      for (const Entity& entity : found.entities) width = std::max(width, entity.label.size());
      Json entities = Json::array();
      for (const Entity& entity : found.entities) {
        entities.push_back(entity_json(entity));
        result.lines.push_back(fmt::format("{:<{}}  {:.4f}  {:>5}-{:<5}  {}", entity.label, width,
                                           entity.score, entity.range.begin, entity.range.end,
                                           one_line(entity.phrase)));
      }
      if (found.entities.empty()) result.lines.push_back("(nothing found)");
      result.fields.set("entities", std::move(entities));
      result.fields.set("tokens", found.tokens);
      results.push_back(std::move(result));
    }
    return results;
  }

 private:
  TextTagger tagger_;
  std::vector<TextTagger::Prepared> texts_;
};

int run_tag(CommandContext& context, TagFlags flags) {
  TaskSource source(flags.task.given(), flags.task.input, {}, context.terminal());
  const TaskModel opened = open_task_model(context, TaskHead::token_classification, flags.head);
  const auto word = std::find(kAggregations.begin(), kAggregations.end(), flags.aggregation);
  flags.options.aggregation = static_cast<Aggregation>(word - kAggregations.begin());
  if (!flags.ignored.empty()) flags.options.ignored = flags.ignored;
  flags.options.trust_text = context.globals.trust_user_tokens;
  flags.options.limits = flags.task.limits();
  flags.options.cancel = &interrupt_flag();
  TagWork work(TextTagger(opened.model, opened.tokenizer, flags.options));
  return run_task(context, source, work, flags.task.output());
}

}  // namespace

Command make_tag_command() {
  auto flags = std::make_shared<TagFlags>();
  Command command;
  command.name = "tag";
  command.summary = "Find names and other entities in texts, with a token classifier's head";
  command.details =
      "Each argument is a text; without arguments each line of the files or of standard input is "
      "one. A JSON row is a string or {\"text\": ..., \"id\": ...}. An entity has its label, the "
      "probability of it, and its place in bytes (start, end) and in characters. Labels B-X and "
      "I-X make entities X. A text of any length is read, in windows.";
  command.examples = {"linnet tag -m FOLDER \"Ada met Charles in London.\"",
                      "linnet tag -m FOLDER --whole --input letter.txt --aggregation word_first",
                      "linnet tag -m FOLDER --input rows.jsonl > entities.jsonl"};
  command.argument = Argument{
      .name = "TEXT", .help = "texts to tag", .many = true, .set = to_list(flags->task.texts)};
  command.options = {
      {.name = "aggregation",
       .value = "RULE",
       .help = "what tokens become: none, entities of tokens (same, default), or entities of words "
               "whose label is that of their first token, of the mean, or of the surest token",
       .choices = kAggregations,
       .set = to_choice(flags->aggregation, kAggregations)},
      {.name = "ignore",
       .value = "LABEL",
       .help = "labels that are not told (default O)",
       .repeatable = true,
       .set = to_list(flags->ignored)},
  };
  append_options(command.options,
                 window_option_table(flags->options.window, flags->options.stride));
  append_options(command.options, classifier_option_table(flags->head));
  append_options(command.options, task_option_table(flags->task));
  command.run = [flags](CommandContext& context) { return run_tag(context, *flags); };
  return command;
}

}  // namespace linnet
