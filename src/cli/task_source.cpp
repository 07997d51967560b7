#include "cli/task_source.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <utility>

#include "base/error.h"
#include "cli/options.h"
#include "cli/text_input.h"

namespace linnet {

class TaskSource::File {
 public:
  File(const std::string& path, bool jsonl) : jsonl_(jsonl || path.ends_with(".jsonl")) {
    if (path != "-") {
      name_ = path;
      fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
      if (fd_ < 0) fail_io("cannot open " + name_);
    }
    reader_ = make_plain_reader(fd_, std::size_t{16} << 20, name_);
  }
  ~File() {
    if (fd_ != STDIN_FILENO) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::string& name() const { return name_; }
  bool jsonl() const { return jsonl_; }
  std::size_t line_number() const { return lines_; }
  bool next_line(std::string& line) {
    ++lines_;
    return reader_->read("", line) == ReadOutcome::line;
  }
  bool ready() { return reader_->ready(); }
  std::string all() { return read_all(fd_, name_); }

 private:
  std::string name_ = "standard input";
  int fd_ = STDIN_FILENO;
  bool jsonl_;
  std::size_t lines_ = 0;
  std::unique_ptr<LineEditor> reader_;
};

TaskSource::TaskSource(std::vector<TaskRow> given, TaskInput input, RowFields fields,
                       const Terminal& terminal)
    : given_(std::move(given)), input_(std::move(input)), fields_(fields) {
  if (!given_.empty() || !input_.files.empty()) return;
  if (terminal.in) {
    throw UsageError(
        fmt::format("the {} is missing: give it as an argument, in a file with --input, or on "
                    "standard input",
                    fields_.first));
  }
  input_.files.push_back("-");
}

TaskSource::~TaskSource() = default;

bool TaskSource::open_next() {
  if (file_at_ == input_.files.size()) return false;
  file_ = std::make_unique<File>(input_.files[file_at_++], input_.jsonl);
  return true;
}

TaskSource::Next TaskSource::next(TaskRow& row, bool wait) {
  row = {};
  if (given_at_ < given_.size()) {
    row = std::move(given_[given_at_++]);
    return Next::row;
  }
  while (file_ != nullptr || open_next()) {
    if (input_.whole && !file_->jsonl()) {
      whole_file(row);
      return Next::row;
    }
    if (!wait && !file_->ready()) return Next::pause;
    row.source = file_->name();
    try {
      if (read_line(row)) return Next::row;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_argument) throw;
      row.line = file_->line_number();
      row.error = error.what();
      return Next::row;
    }
  }
  return Next::end;
}

// False for a blank line, and for the end of the file.
bool TaskSource::read_line(TaskRow& row) {
  std::string line;
  if (!file_->next_line(line)) {
    file_.reset();
    return false;
  }
  if (line.find_first_not_of(" \t\r") == std::string::npos) return false;
  row.line = file_->line_number();
  if (file_->jsonl()) {
    read_json(line, row);
  } else {
    require_utf8(line, "the text");
    row.first = std::move(line);
  }
  return true;
}

void TaskSource::whole_file(TaskRow& row) {
  row.source = file_->name();
  row.first = file_->all();
  file_.reset();
  if (row.first.ends_with('\n')) row.first.pop_back();
  if (row.first.ends_with('\r')) row.first.pop_back();
}

void TaskSource::read_json(const std::string& line, TaskRow& row) const {
  const Json json = Json::parse(line, "row");
  if (json.is_string() && !fields_.second_required) {
    row.first = json.as_string();
    return;
  }
  if (!json.is_object()) {
    fail(ErrorCode::invalid_argument,
         fmt::format("row: expected an object with the field \"{}\", found {}", fields_.first,
                     json.type_name()));
  }
  if (const Json* id = json.find("id")) row.id = *id;
  row.first = json.at(fields_.first).as_string(fields_.first);
  if (fields_.second.empty()) return;
  const Json* second = json.find(fields_.second);
  if (fields_.second_required || (second != nullptr && !second->is_null()))
    row.second = json.at(fields_.second).as_string(fields_.second);
}

}  // namespace linnet
