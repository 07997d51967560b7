// Options that the task commands share, and the model that they open with them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/task_run.h"
#include "cli/task_source.h"
#include "engine/row_batches.h"
#include "engine/task_model.h"

namespace linnet {

struct TaskFlags {
  std::vector<std::string> texts;  // arguments
  TaskInput input;
  std::optional<bool> json;
  std::int64_t batch = 32;

  TaskOutput output() const { return {json, static_cast<std::size_t>(batch)}; }
  // Each input has a cache of its own, so that many short ones would take much memory.
  BatchLimits limits() const { return {.inputs = std::min<std::int64_t>(batch, 32)}; }
  std::vector<TaskRow> given() const;
};

struct HeadFlags {
  std::string head;  // empty: the command's own
  std::optional<std::uint64_t> init_head;
  std::vector<std::string> labels;
};

// --input, --jsonl, --whole, --json, --batch
std::vector<Option> task_option_table(TaskFlags& flags);
// --init-head
Option init_head_option(HeadFlags& flags);
// --head, --init-head, --label: for the two classifiers.
std::vector<Option> classifier_option_table(HeadFlags& flags);
// --max-input
Option max_input_option(std::int64_t& target);
// --window, --stride
std::vector<Option> window_option_table(std::int64_t& window, std::int64_t& stride);
void append_options(std::vector<Option>& options, std::vector<Option> more);

// The model of --model with `head`, or with the one that the flags name. With a progress bar on a
// terminal; warns of a head that was made new and of tensors that belong to no head.
TaskModel open_task_model(const CommandContext& context, TaskHead head, const HeadFlags& flags);

}  // namespace linnet
