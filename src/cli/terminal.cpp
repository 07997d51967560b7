#include "cli/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

#include "base/utf8.h"
#include "cli/options.h"

namespace linnet {
namespace {

bool is_control(char32_t point) {
  if (point == '\n' || point == '\t') return false;
  return point < 0x20 || (point >= 0x7F && point < 0xA0);
}

// C0 and DEL as in base/log.h; C1 controls are two bytes in UTF-8 and are shown by their number.
void append_visible(std::string& out, char32_t point) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += "\\x";
  out += kHex[(point >> 4) & 15];
  out += kHex[point & 15];
}

}  // namespace

void ensure_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    // The lowest free number is this one.
    [[maybe_unused]] const int opened =
        ::open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);
  }
}

Terminal detect_terminal(ColorMode mode) {
  Terminal terminal;
  terminal.in = ::isatty(STDIN_FILENO) == 1;
  terminal.out = ::isatty(STDOUT_FILENO) == 1;
  terminal.err = ::isatty(STDERR_FILENO) == 1;
  const bool wanted = !environment("NO_COLOR") && environment("TERM").value_or("dumb") != "dumb";
  const auto color = [&](bool is_terminal) {
    return mode == ColorMode::always || (mode == ColorMode::automatic && is_terminal && wanted);
  };
  terminal.out_color = color(terminal.out);
  terminal.err_color = color(terminal.err);
  return terminal;
}

int terminal_width() {
  for (const int fd : {STDERR_FILENO, STDOUT_FILENO}) {
    winsize size{};
    if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  }
  return 80;
}

std::string styled(bool color, std::string_view style, std::string_view text) {
  if (!color) return std::string(text);
  std::string out(style);
  out += text;
  out += kPlain;
  return out;
}

std::string terminal_safe(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Step step = decode_utf8(text);
    const std::size_t length = step.kind == Utf8Step::Kind::incomplete ? text.size() : step.length;
    if (step.kind != Utf8Step::Kind::valid) {
      out += kReplacementText;
    } else if (text.substr(0, 2) == "\r\n") {
      // The newline follows.
    } else if (is_control(step.point)) {
      append_visible(out, step.point);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return out;
}

void write_error_text(std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::write(STDERR_FILENO, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(put));
  }
}

void write_error_line(const Terminal& terminal, std::string_view text) {
  write_error_text((terminal.err ? terminal_safe(text) : repair_utf8(text)) + "\n");
}

}  // namespace linnet
