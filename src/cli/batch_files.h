// The two files of a batch. The output of a run that was ended at any moment, with kill -9 as well,
// is one that a next run goes on with: its whole lines count, a torn last one is cut off.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "cli/line_editor.h"
#include "cli/output.h"

namespace linnet {

class BatchInput {
 public:
  // "-": standard input. Error{not_found, io}.
  explicit BatchInput(const std::string& path);
  ~BatchInput();
  BatchInput(const BatchInput&) = delete;
  BatchInput& operator=(const BatchInput&) = delete;

  // The next line; false at the end, and when an interruption came first. Error{invalid_argument}
  // for a line over 16 MiB, whose number counts; the next call goes on behind it.
  bool next(std::string& line);
  bool ready() { return reader_->ready(); }
  std::int64_t number() const { return number_; }  // of the last line, from 1
  std::uint64_t size() const { return size_; }     // bytes; 0: not known
  int fd() const { return fd_; }
  const std::string& name() const { return name_; }

 private:
  std::string name_ = "standard input";
  int fd_ = 0;
  std::uint64_t size_ = 0;
  std::int64_t number_ = 0;
  std::unique_ptr<LineEditor> reader_;
};

class BatchOutput {
 public:
  // "-": standard output. A file that is there is gone on with, or with `overwrite` emptied.
  // Errors: invalid_argument when it holds anything else than records, when it is the input, and
  // when another run is writing to it; io.
  BatchOutput(const std::string& path, bool overwrite, const BatchInput& input, Output& standard);
  ~BatchOutput();
  BatchOutput(const BatchOutput&) = delete;
  BatchOutput& operator=(const BatchOutput&) = delete;

  // The checksum in the record of an input line that was finished by an earlier run.
  std::optional<std::uint64_t> finished(std::int64_t line) const;
  std::size_t finished_lines() const { return finished_.size(); }

  // A record as a line of its own, at once. Error{io}.
  void write(const std::string& record);
  // What was written is on the disk then. Error{io}.
  void finish();
  const std::string& name() const { return name_; }

 private:
  void lock_against(const BatchInput& input) const;
  void read_finished();

  Output& standard_;
  std::string name_ = "standard output";
  int fd_ = -1;  // -1: standard output
  bool is_regular_ = false;
  std::unordered_map<std::int64_t, std::uint64_t> finished_;
};

}  // namespace linnet
