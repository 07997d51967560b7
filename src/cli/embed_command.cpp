#include "cli/embed_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "cli/interrupt.h"
#include "cli/task_options.h"
#include "cli/task_records.h"
#include "engine/embed.h"

namespace linnet {
namespace {

struct EmbedFlags {
  TaskFlags task;
  std::string pooling = "mean";
  EmbedOptions options;
};

const std::vector<std::string> kPoolings = {"mean", "last"};

// "256 numbers: 0.0123 -0.0456 ..."
std::string glance(const std::vector<float>& values) {
  std::string text = fmt::format("{} numbers:", values.size());
  for (std::size_t i = 0; i < std::min<std::size_t>(6, values.size()); ++i)
    text += fmt::format(" {:.4f}", values[i]);
  return values.size() > 6 ? text + " ..." : text;
}

class EmbedWork : public TaskWork {
 public:
  explicit EmbedWork(TextEmbedder embedder) : embedder_(std::move(embedder)) {}

  void add(const TaskRow& row) override { texts_.push_back(embedder_.prepare(row.first)); }

  std::vector<TaskResult> run() override {
    const auto texts = std::exchange(texts_, {});
    std::vector<TaskResult> results;
    for (const Embedding& found : embedder_.embed(std::span<const TextEmbedder::Prepared>(texts))) {
      TaskResult result;
      Json values = Json::array();
      for (const float value : found.values) values.push_back(json_float(value));
      result.fields.set("embedding", std::move(values));
      result.fields.set("tokens", found.tokens);
      result.lines.push_back(glance(found.values));
      result.truncated = found.truncated;
      results.push_back(std::move(result));
    }
    return results;
  }

 private:
  TextEmbedder embedder_;
  std::vector<TextEmbedder::Prepared> texts_;
};

int run_embed(CommandContext& context, EmbedFlags flags) {
  TaskSource source(flags.task.given(), flags.task.input, {}, context.terminal());
  const TaskModel opened = open_task_model(context, TaskHead::none, {});
  flags.options.pooling = flags.pooling == "mean" ? EmbeddingPooling::mean : EmbeddingPooling::last;
  flags.options.trust_text = context.globals.trust_user_tokens;
  flags.options.limits = flags.task.limits();
  flags.options.cancel = &interrupt_flag();
  EmbedWork work(TextEmbedder(opened.model, opened.tokenizer, flags.options));
  return run_task(context, source, work, flags.task.output());
}

}  // namespace

Command make_embed_command() {
  auto flags = std::make_shared<EmbedFlags>();
  Command command;
  command.name = "embed";
  command.summary = "Turn texts into vectors";
  command.details =
      "Each argument is a text; without arguments each line of the files or of standard input is "
      "one. A JSON row is a string or {\"text\": ..., \"id\": ...}. The vector is the mean of the "
      "model's last hidden states or the last token's, of length 1 unless --no-normalize is given. "
      "Any model will do, but only one that was trained for it gives vectors of much use. There is "
      "no rule for the first token (cls): in a causal model it has seen nothing but itself.";
  command.examples = {"linnet embed \"a bird\" \"a finch\" --json",
                      "linnet embed -m FOLDER --pooling last < lines.txt > vectors.jsonl",
                      "linnet embed --whole --input letter.txt --json"};
  command.argument = Argument{
      .name = "TEXT", .help = "texts to embed", .many = true, .set = to_list(flags->task.texts)};
  command.options = {
      {.name = "pooling",
       .value = "RULE",
       .help = "the mean over all tokens (default), or the last token, which has seen the whole "
               "text",
       .choices = kPoolings,
       .set = to_choice(flags->pooling, kPoolings)},
      {.name = "normalize",
       .help = "divide by the Euclidean length (default), or do not",
       .negation = "no-normalize",
       .set = to_flag(flags->options.normalize)},
      max_input_option(flags->options.max_tokens),
  };
  append_options(command.options, task_option_table(flags->task));
  command.run = [flags](CommandContext& context) { return run_embed(context, *flags); };
  return command;
}

}  // namespace linnet
