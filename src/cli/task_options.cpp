#include "cli/task_options.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/log.h"
#include "cli/open_model.h"
#include "cli/progress_bar.h"
#include "model/build_program.h"

namespace linnet {
namespace {

// A path may hold any bytes.
OptionSetter to_path_list(std::vector<std::string>& target) {
  return [&target](const std::string& text) { target.push_back(text); };
}

void tell_about(const LoadReport& report, std::uint64_t seed) {
  if (!report.initialized.empty()) {
    log_warn(fmt::format("{} made new from seed {}: the results mean nothing before it is trained",
                         fmt::join(report.initialized, " and "), seed));
  }
  std::vector<std::string> unknown;
  std::copy_if(report.unexpected.begin(), report.unexpected.end(), std::back_inserter(unknown),
               [](const std::string& name) { return !is_head_weight(name); });
  if (unknown.empty()) return;
  log_warn(fmt::format("in the file, but not part of the model: {}{}", unknown[0],
                       unknown.size() > 1 ? fmt::format(" and {} more", unknown.size() - 1) : ""));
}

}  // namespace

std::vector<TaskRow> TaskFlags::given() const {
  std::vector<TaskRow> rows;
  for (const std::string& text : texts) rows.push_back({.first = text});
  return rows;
}

std::vector<Option> task_option_table(TaskFlags& flags) {
  return {
      {.name = "input",
       .letter = 'i',
       .value = "FILE",
       .help = "read texts from a file, - for standard input; *.jsonl is read as with --jsonl",
       .repeatable = true,
       .is_path = true,
       .set = to_path_list(flags.input.files)},
      {.name = "jsonl", .help = "read a JSON row on each line", .set = to_flag(flags.input.jsonl)},
      {.name = "whole",
       .help = "take each file, or standard input, as one text with all its lines",
       .excludes = "jsonl",
       .set = to_flag(flags.input.whole)},
      {.name = "json",
       .help = "print a JSON record for each row, or a table (default: a table on a terminal)",
       .negation = "table",
       .set = to_flag(flags.json)},
      {.name = "batch",
       .value = "N",
       .help = "rows that are read and computed together (default 32); no effect on the results",
       .set = to_integer(flags.batch, {1, 4096})},
  };
}

Option init_head_option(HeadFlags& flags) {
  return {.name = "init-head",
          .value = "SEED",
          .help = "make a head that the model lacks from random numbers, to try things out",
          .set = to_seed(flags.init_head)};
}

std::vector<Option> classifier_option_table(HeadFlags& flags) {
  const std::vector<std::string> heads = {"sequence_classification", "token_classification"};
  return {
      {.name = "head",
       .value = "HEAD",
       .help = "the classifier to read, of the model's heads (default: the command's own)",
       .choices = heads,
       .set = to_choice(flags.head, heads)},
      init_head_option(flags),
      {.name = "label",
       .value = "NAME",
       .help = "names of the labels in place of the config's, in their order",
       .repeatable = true,
       .set = to_list(flags.labels)},
  };
}

Option max_input_option(std::int64_t& target) {
  return {
      .name = "max-input",
      .value = "N",
      .help = "tokens read of a text; longer ones lose their end (default: the model's context)",
      .set = to_integer(target, {1, INT32_MAX})};
}

std::vector<Option> window_option_table(std::int64_t& window, std::int64_t& stride) {
  return {
      {.name = "window",
       .value = "N",
       .help = "tokens read at once; longer texts are read in overlapping windows (default: the "
               "model's context)",
       .set = to_integer(window, {1, INT32_MAX})},
      {.name = "stride",
       .value = "N",
       .help = "tokens that a window repeats of the one before it, at most half (default 128)",
       .set = to_integer(stride, {0, INT32_MAX})},
  };
}

void append_options(std::vector<Option>& options, std::vector<Option> more) {
  std::move(more.begin(), more.end(), std::back_inserter(options));
}

TaskModel open_task_model(const CommandContext& context, TaskHead head, const HeadFlags& flags) {
  const std::filesystem::path path = chosen_model(context.globals);
  ProgressBar bar("Loading " + path.filename().string(), context.terminal());
  LoadOptions load = load_options(context.globals);
  load.labels = flags.labels;
  load.initialize_missing_head = flags.init_head.has_value();
  load.seed = flags.init_head.value_or(0);
  load.on_progress = [&](double fraction) { bar.update(fraction); };
  if (const auto chosen = task_head_from_name(flags.head)) head = *chosen;
  TaskModel opened = TaskModel::load(path, head, open_options(context.globals), load);
  bar.erase();
  for (const std::string& note : opened.files.notes) log_info(note);
  tell_about(opened.model->report(), load.seed);
  return opened;
}

}  // namespace linnet
