#include "cli/classify_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "cli/interrupt.h"
#include "cli/task_options.h"
#include "cli/task_records.h"
#include "engine/classify.h"

namespace linnet {
namespace {

struct ClassifyFlags {
  TaskFlags task;
  HeadFlags head;
  std::optional<std::string> pair;
  std::string scores = "auto";
  std::string pooling = "rightmost_not_pad";
  ClassifyOptions options;
};

const std::vector<std::string> kScores = {"auto", "softmax", "sigmoid", "none"};
const std::vector<std::string> kPoolings = {"rightmost_not_pad", "count_not_pad",
                                            "rightmost_unmasked"};

// The words stand in the order of the enumeration.
template <typename Enum>
Enum by_word(const std::vector<std::string>& words, const std::string& word) {
  return static_cast<Enum>(std::find(words.begin(), words.end(), word) - words.begin());
}

class ClassifyWork : public TaskWork {
 public:
  explicit ClassifyWork(TextClassifier classifier) : classifier_(std::move(classifier)) {}

  void add(const TaskRow& row) override {
    texts_.push_back(classifier_.prepare({row.first, row.second}));
  }

  std::vector<TaskResult> run() override {
    const auto texts = std::exchange(texts_, {});
    std::vector<TaskResult> results;
    for (const Classification& found :
         classifier_.classify(std::span<const TextClassifier::Prepared>(texts))) {
      TaskResult result;
      Json labels = Json::array();
      for (const LabelScore& one : found.labels) {
        Json label = Json::object();
        label.set("label", one.label);
        label.set("score", json_float(one.score));
        labels.push_back(std::move(label));
        result.lines.push_back(fmt::format("{:>8.4f}  {}", one.score, one.label));
      }
      result.fields.set("labels", std::move(labels));
      result.fields.set("tokens", found.tokens);
      result.truncated = found.truncated;
      results.push_back(std::move(result));
    }
    return results;
  }

 private:
  TextClassifier classifier_;
  std::vector<TextClassifier::Prepared> texts_;
};

int run_classify(CommandContext& context, ClassifyFlags flags) {
  std::vector<TaskRow> given = flags.task.given();
  if (flags.pair) {
    if (given.size() != 1) throw UsageError("--pair belongs to exactly one TEXT");
    given[0].second = flags.pair;
  }
  TaskSource source(std::move(given), flags.task.input, {"text", "pair", false},
                    context.terminal());
  const TaskModel opened = open_task_model(context, TaskHead::sequence_classification, flags.head);
  flags.options.scores = by_word<ScoreFunction>(kScores, flags.scores);
  flags.options.pooling = by_word<PoolingRule>(kPoolings, flags.pooling);
  flags.options.trust_text = context.globals.trust_user_tokens;
  flags.options.limits = flags.task.limits();
  flags.options.cancel = &interrupt_flag();
  ClassifyWork work(TextClassifier(opened.model, opened.tokenizer, flags.options));
  return run_task(context, source, work, flags.task.output());
}

}  // namespace

Command make_classify_command() {
  auto flags = std::make_shared<ClassifyFlags>();
  Command command;
  command.name = "classify";
  command.summary = "Give texts labels, with a classifier's head";
  command.details =
      "Each argument is a text; without arguments each line of the files or of standard input is "
      "one. A JSON row is a string or {\"text\": ..., \"pair\": ..., \"id\": ...}; the pair and "
      "the "
      "id may be absent. The results come in the order of the texts. A row that is refused gives "
      "{\"line\", \"error\"}, and the exit status is 1 at the end.";
  command.examples = {"linnet classify -m FOLDER \"The invoice is wrong.\"",
                      "linnet classify -m FOLDER \"A bird sings.\" --pair \"Something sings.\"",
                      "linnet classify -m FOLDER --top 1 < lines.txt",
                      "linnet classify -m FOLDER --input rows.jsonl > labels.jsonl"};
  command.argument = Argument{
      .name = "TEXT", .help = "texts to classify", .many = true, .set = to_list(flags->task.texts)};
  command.options = {
      {.name = "pair",
       .value = "TEXT",
       .help = "the second text, for a classifier of pairs",
       .set = to_text(flags->pair)},
      {.name = "top",
       .value = "N",
       .help = "labels of each text, best first; 0: all (default 5)",
       .set = to_integer(flags->options.top, {0, INT32_MAX})},
      {.name = "scores",
       .value = "FUNCTION",
       .help = "what is done to the logits (default auto: what the config's kind of problem asks "
               "for)",
       .choices = kScores,
       .set = to_choice(flags->scores, kScores)},
      {.name = "pooling",
       .value = "RULE",
       .help = "which token is read: the last that is not the pad id (transformers, default), the "
               "one at the number of such tokens (Bumblebee), or the last",
       .choices = kPoolings,
       .set = to_choice(flags->pooling, kPoolings)},
      max_input_option(flags->options.max_tokens),
  };
  append_options(command.options, classifier_option_table(flags->head));
  append_options(command.options, task_option_table(flags->task));
  command.run = [flags](CommandContext& context) { return run_classify(context, *flags); };
  return command;
}

}  // namespace linnet
