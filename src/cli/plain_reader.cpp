#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "cli/interrupt.h"
#include "cli/line_editor.h"

namespace linnet {
namespace {

constexpr std::size_t kChunk = 1 << 16;

// Appends what there is to read; false at the end. An interruption that was deferred ends it too.
bool read_more(int fd, const std::string& name, std::string& buffer) {
  while (!wait_for_input(fd)) {
    if (interrupt_flag().load()) return false;
  }
  const std::size_t before = buffer.size();
  buffer.resize(before + kChunk);
  ssize_t got = 0;
  do {
    got = ::read(fd, buffer.data() + before, kChunk);
  } while (got < 0 && errno == EINTR);
  const int code = errno;
  buffer.resize(before + static_cast<std::size_t>(got > 0 ? got : 0));
  errno = code;
  if (got < 0) fail_io("cannot read " + name);
  return got > 0;
}

bool has_input(int fd) {
  pollfd waiting{fd, POLLIN, 0};
  return interrupt_flag().load() || ::poll(&waiting, 1, 0) > 0;
}

class PlainReader : public LineEditor {
 public:
  PlainReader(int fd, std::size_t limit, const std::string& name)
      : fd_(fd), limit_(limit), name_(name) {}

  ReadOutcome read(const std::string&, std::string& line) override {
    ++number_;
    while (!find_end()) {
      if (!read_more(fd_, name_, buffer_)) return last_line(line);
    }
    check_limit(end_ - at_);
    take(end_, line);
    at_ = end_ + 1;
    return ReadOutcome::line;
  }

  bool ready() override {
    while (!find_end()) {
      if (!has_input(fd_)) return false;
      if (!read_more(fd_, name_, buffer_)) return true;
    }
    return true;
  }

 private:
  // Sets end_ to the newline behind the current line. The part of the buffer that was searched in
  // vain is not searched again, and what belongs to a line that was refused is dropped.
  bool find_end() {
    end_ = buffer_.find('\n', std::max(at_, searched_));
    while (skipping_ && end_ != std::string::npos) {
      at_ = end_ + 1;
      skipping_ = false;
      end_ = buffer_.find('\n', at_);
    }
    if (end_ != std::string::npos) return true;
    buffer_.erase(0, skipping_ ? buffer_.size() : at_);
    at_ = 0;
    searched_ = buffer_.size();
    if (searched_ > limit_) end_ = searched_;
    return searched_ > limit_;
  }

  ReadOutcome last_line(std::string& line) {
    if (interrupt_flag().load()) return ReadOutcome::interrupted;
    if (buffer_.empty()) return ReadOutcome::end;
    take(buffer_.size(), line);
    at_ = searched_ = buffer_.size();
    return ReadOutcome::line;
  }

  void take(std::size_t end, std::string& line) {
    line = buffer_.substr(at_, end - at_);
    if (line.ends_with('\r')) line.pop_back();
  }

  void check_limit(std::size_t bytes) {
    if (bytes <= limit_) return;
    skipping_ = true;
    fail(ErrorCode::invalid_argument,
         fmt::format("{}: line {} is longer than {} bytes", name_, number_, limit_));
  }

  int fd_;
  std::size_t limit_;
  std::string name_;
  std::size_t number_ = 0;
  std::string buffer_;
  std::size_t at_ = 0;        // where the current line begins
  std::size_t end_ = 0;       // its newline, when it was found
  std::size_t searched_ = 0;  // no newline from at_ to here
  bool skipping_ = false;     // the current line was refused already
};

}  // namespace

std::unique_ptr<LineEditor> make_plain_reader(int fd, std::size_t limit, const std::string& name) {
  return std::make_unique<PlainReader>(fd, limit, name);
}

std::string read_all(int fd, const std::string& name, std::size_t limit) {
  std::string text;
  while (read_more(fd, name, text)) {
    if (text.size() > limit) {
      fail(ErrorCode::invalid_argument, fmt::format("{}: more than {} bytes", name, limit));
    }
  }
  if (interrupt_flag().load()) fail(ErrorCode::cancelled, "interrupted");
  return text;
}

}  // namespace linnet
