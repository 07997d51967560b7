// The loop of the task commands: rows in, blocks through the pipeline, results out in the order of
// the rows. A row that is refused is told with its place, and the rest goes on.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/task_source.h"

namespace linnet {

struct TaskResult {
  Json fields = Json::object();         // of the record
  std::vector<std::string> lines = {};  // for people
  bool truncated = false;               // tokens at the end of the text were not read
};

// What a command does with a block of rows.
class TaskWork {
 public:
  virtual ~TaskWork() = default;
  // Error{invalid_argument} when the row cannot be used; the block is as it was then.
  virtual void add(const TaskRow& row) = 0;
  // A result for each row that was added, in their order; the next block then begins.
  virtual std::vector<TaskResult> run() = 0;
};

struct TaskOutput {
  // Records, one JSON object on a line; absent: unless standard output is a terminal.
  std::optional<bool> json;
  std::size_t block = 32;  // rows that are computed together, where so many are there
};

// The exit status: 1 when a row was refused, that of the signal after Ctrl-C.
int run_task(CommandContext& context, TaskSource& source, TaskWork& work, const TaskOutput& output);

}  // namespace linnet
