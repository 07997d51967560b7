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

std::optional<TaskRow> TaskSource::next() {
  if (given_at_ < given_.size()) return std::move(given_[given_at_++]);
  std::string line;
  while (file_ != nullptr || open_next()) {
    if (input_.whole && !file_->jsonl()) return whole_file();
    if (!file_->next_line(line)) {
      file_.reset();
      continue;
    }
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    TaskRow row;
    row.source = file_->name();
    row.line = file_->line_number();
    try {
      if (file_->jsonl()) {
        read_json(line, row);
      } else {
        require_utf8(line, "the text");
        row.first = std::move(line);
      }
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_argument) throw;
      row.error = error.what();
    }
    return row;
  }
  return std::nullopt;
}

std::optional<TaskRow> TaskSource::whole_file() {
  TaskRow row;
  row.source = file_->name();
  row.first = file_->all();
  file_.reset();
  if (row.first.ends_with('\n')) row.first.pop_back();
  if (row.first.ends_with('\r')) row.first.pop_back();
  return row;
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
