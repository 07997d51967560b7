// Where the inputs of a task command come from: arguments, lines of files or of standard input,
// JSON lines, whole files. Read one at a time, however many there are.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "cli/line_editor.h"
#include "cli/terminal.h"

namespace linnet {

// One input: a text and perhaps a second one.
struct TaskRow {
  std::string first = {};
  std::optional<std::string> second = {};
  std::string source = {};  // "standard input", a path; empty for an argument
  std::size_t line = 0;     // in the source, from 1; 0 for an argument or a whole file
  Json id = {};             // the field "id" of a JSON row, given back with the result
  std::string error = {};   // what is wrong with it; then there are no texts
};

// Names of the texts in a JSON row. A row that is a string is the first text where the second may
// be absent.
struct RowFields {
  std::string_view first = "text";
  std::string_view second = "";  // empty: there is none
  bool second_required = false;
};

struct TaskInput {
  std::vector<std::string> files;  // "-" is standard input
  bool jsonl = false;              // files named *.jsonl are JSON lines without it too
  bool whole = false;              // each file is one text, not one on each line
};

class TaskSource {
 public:
  // `given` come first. Without any, and without files, standard input is read; that it is a
  // terminal is a UsageError.
  TaskSource(std::vector<TaskRow> given, TaskInput input, RowFields fields,
             const Terminal& terminal);
  ~TaskSource();

  enum class Next { row, end, pause };

  // `end` also after an interruption; `pause`, unless it may `wait`, when no whole line is there
  // yet. Blank lines are left out, a line over 16 MiB is a row with an error. Error{io},
  // Error{not_found} for a file that cannot be read; Error{invalid_argument} for a whole file over
  // 64 MiB.
  Next next(TaskRow& row, bool wait);

 private:
  class File;
  bool open_next();
  void whole_file(TaskRow& row);
  bool read_line(TaskRow& row);
  void read_json(const std::string& line, TaskRow& row) const;

  std::vector<TaskRow> given_;
  std::size_t given_at_ = 0;
  TaskInput input_;
  std::size_t file_at_ = 0;
  RowFields fields_;
  std::unique_ptr<File> file_;
};

}  // namespace linnet
