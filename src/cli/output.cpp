#include "cli/output.h"

#include <unistd.h>

#include <cerrno>

#include "base/error.h"

namespace linnet {

namespace {
constexpr std::size_t kFlushBytes = 1 << 16;
}

void Output::write(std::string_view text) {
  waiting_ += text;
  if (waiting_.size() >= kFlushBytes) flush();
}

void Output::line(std::string_view text) {
  write(text);
  write("\n");
}

void Output::foreign(std::string_view text) {
  if (terminal_.out) {
    write(terminal_safe(text));
  } else {
    write(text);
  }
}

void Output::flush() {
  std::string_view left = waiting_;
  while (!left.empty()) {
    const ssize_t put = ::write(STDOUT_FILENO, left.data(), left.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      waiting_.clear();
      fail_io("cannot write to standard output");
    }
    left.remove_prefix(static_cast<std::size_t>(put));
  }
  waiting_.clear();
}

}  // namespace linnet
