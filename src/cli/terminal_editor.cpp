// The one file that knows libedit.
#include <histedit.h>
#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdlib>
#include <cstring>
#include <cwchar>

#include "base/error.h"
#include "base/utf8.h"
#include "cli/interrupt.h"
#include "cli/line_editor.h"

namespace linnet {
namespace {

// Stands for a newline of a pasted text while it is edited in one line.
constexpr char32_t kNewlineSign = 0x23CE;
constexpr std::string_view kNewlineSignText = "\u23CE";
constexpr std::string_view kPasteOn = "\x1b[?2004h";
constexpr std::string_view kPasteOff = "\x1b[?2004l";
constexpr std::string_view kPasteBegin = "\x1b[200~";
constexpr std::string_view kPasteEnd = "\x1b[201~";
constexpr int kSequenceMilliseconds = 100;

std::atomic<bool> resized{false};
std::atomic<bool> continued{false};

void on_window_change(int) {
  resized.store(true);
  wake_input();
}

void on_continue(int) {
  continued.store(true);
  wake_input();
}

// A signal's handler while the editor waits for keys.
class ScopedHandler {
 public:
  ScopedHandler(int number, void (*handler)(int)) : number_(number) {
    struct sigaction action {};
    action.sa_handler = handler;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(number, &action, &before_);
  }
  ~ScopedHandler() { ::sigaction(number_, &before_, nullptr); }
  ScopedHandler(const ScopedHandler&) = delete;
  ScopedHandler& operator=(const ScopedHandler&) = delete;

 private:
  int number_;
  struct sigaction before_ {};
};

// Bytes of the keyboard as characters. Pasted newlines become kNewlineSign.
class Keyboard {
 public:
  enum class Key { character, end, failed };

  // A paste whose end was lost must not swallow the next line's Enter.
  void begin_line() { pasting_ = false; }

  Key next(char32_t& point, const auto& on_signal) {
    while (true) {
      if (!waiting_.empty() && take(point)) return Key::character;
      if (!wait_for_input(STDIN_FILENO)) {
        if (!on_signal()) return Key::failed;
        continue;
      }
      char bytes[256];
      const ssize_t got = ::read(STDIN_FILENO, bytes, sizeof bytes);
      if (got > 0) {
        waiting_.append(bytes, static_cast<std::size_t>(got));
      } else if (got == 0) {
        return Key::end;
      } else if (errno != EINTR) {
        return Key::failed;
      }
    }
  }

 private:
  // False when more bytes are needed first.
  bool take(char32_t& point) {
    if (is_cut(pasting_ ? kPasteEnd : kPasteBegin)) return false;
    if (skip_sequence(pasting_ ? kPasteEnd : kPasteBegin)) {
      pasting_ = !pasting_;
      if (waiting_.empty()) return false;
    }
    const Utf8Step step = decode_utf8(waiting_);
    if (step.kind == Utf8Step::Kind::incomplete && waiting_.size() < 4) return false;
    point = step.kind == Utf8Step::Kind::valid ? step.point : kReplacementPoint;
    waiting_.erase(0, step.kind == Utf8Step::Kind::incomplete ? 1 : step.length);
    if (!pasting_) return true;
    if (point == '\r' || point == '\n') point = kNewlineSign;
    if (point == '\t') point = ' ';
    // A pasted control character would be taken for a key.
    if (point < 0x20 || point == 0x7F) point = kReplacementPoint;
    return true;
  }

  // A sequence whose end is still on its way. A lone escape may be a key, unless a paste must end.
  bool is_cut(std::string_view sequence) const {
    const std::size_t least = pasting_ ? 1 : 3;
    if (waiting_.size() < least || waiting_.size() >= sequence.size()) return false;
    if (!sequence.starts_with(waiting_)) return false;
    pollfd input{STDIN_FILENO, POLLIN, 0};
    return ::poll(&input, 1, kSequenceMilliseconds) == 1;
  }

  bool skip_sequence(std::string_view sequence) {
    if (!waiting_.starts_with(sequence)) return false;
    waiting_.erase(0, sequence.size());
    return true;
  }

  std::string waiting_;
  bool pasting_ = false;
};

class TerminalEditor : public LineEditor {
 public:
  TerminalEditor(const Terminal& terminal, HistoryFile& file)
      : terminal_(terminal), echo_(terminal.out ? stdout : stderr), file_(file) {
    choose_locale();
    edit_ = ::el_init("linnet", stdin, echo_, stderr);
    history_ = ::history_init();
    if (edit_ == nullptr || history_ == nullptr) {
      fail(ErrorCode::io, "the terminal cannot be used for line editing; try TERM=xterm");
    }
    HistEvent event{};
    ::history(history_, &event, H_SETSIZE, static_cast<int>(HistoryFile::kKept));
    for (const std::string& entry : file.entries()) {
      ::history(history_, &event, H_ENTER, entry.c_str());
    }
    ::el_set(edit_, EL_CLIENTDATA, this);
    ::el_set(edit_, EL_PROMPT_ESC, prompt_of, '\1');
    ::el_set(edit_, EL_EDITOR, "emacs");
    ::el_set(edit_, EL_HIST, ::history, history_);
    ::el_set(edit_, EL_GETCFN, next_character);
    ::el_set(edit_, EL_SIGNAL, 0);
    ::el_set(edit_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    // Ctrl-S would freeze the terminal until Ctrl-Q.
    ::el_set(edit_, EL_SETTY, "-d", "-ixon", nullptr);
    ::el_source(edit_, nullptr);
  }

  ~TerminalEditor() override {
    if (history_ != nullptr) ::history_end(history_);
    if (edit_ != nullptr) ::el_end(edit_);
  }

  ReadOutcome read(const std::string& prompt, std::string& line) override {
    const ScopedHandler window(SIGWINCH, on_window_change);
    const ScopedHandler wake(SIGCONT, on_continue);
    set_prompt(prompt);
    keyboard_.begin_line();
    if (resized.exchange(false)) ::el_resize(edit_);
    if (!dumb_) put(kPasteOn);
    // Before the prompt is seen: a key that answers it at once must not meet the old mode.
    ::el_set(edit_, EL_PREP_TERM, 1);
    int count = 0;
    errno = 0;
    const char* text = ::el_gets(edit_, &count);
    const int code = errno;
    if (!dumb_) put(kPasteOff);
    if (interrupt_flag().load()) {
      line = typed_before_interrupt();
      return ReadOutcome::interrupted;
    }
    if (text == nullptr || count <= 0) {
      if (count < 0 && code != 0 && code != EIO) {
        errno = code;
        fail_io("cannot read from the terminal");
      }
      return ReadOutcome::end;
    }
    line = with_newlines(std::string_view(text, static_cast<std::size_t>(count)));
    return ReadOutcome::line;
  }

  void remember(const std::string& typed) override {
    if (typed.find_first_not_of(" \n") == std::string::npos) return;
    const std::string entry = with_newline_signs(typed);
    HistEvent event{};
    ::history(history_, &event, H_ENTER, entry.c_str());
    file_.add(entry);
  }

 private:
  // Characters wider than a byte need a locale that knows UTF-8.
  static void choose_locale() {
    std::setlocale(LC_CTYPE, "");
    if (std::strcmp(::nl_langinfo(CODESET), "UTF-8") != 0) std::setlocale(LC_CTYPE, "C.UTF-8");
  }

  static TerminalEditor& of(EditLine* edit) {
    void* self = nullptr;
    ::el_get(edit, EL_CLIENTDATA, &self);
    return *static_cast<TerminalEditor*>(self);
  }

  static char* prompt_of(EditLine* edit) { return of(edit).prompt_.data(); }

  static int next_character(EditLine* edit, wchar_t* character) {
    TerminalEditor& self = of(edit);
    char32_t point = 0;
    const auto key = self.keyboard_.next(point, [&] { return self.after_signal(); });
    *character = static_cast<wchar_t>(point);
    if (key == Keyboard::Key::character) return 1;
    return key == Keyboard::Key::end ? 0 : -1;
  }

  // True to go on reading.
  bool after_signal() {
    if (interrupt_flag().load()) return false;
    if (resized.exchange(false)) ::el_resize(edit_);
    if (continued.exchange(false)) {
      // The shell has set its own mode meanwhile; libedit believes that its mode still holds.
      ::el_set(edit_, EL_PREP_TERM, 0);
      ::el_set(edit_, EL_PREP_TERM, 1);
      if (!dumb_) put(kPasteOn);
      put("\n");
      ::el_set(edit_, EL_REFRESH);
    }
    return true;
  }

  void set_prompt(const std::string& prompt) {
    prompt_ = prompt;
    const bool color = terminal_.out ? terminal_.out_color : terminal_.err_color;
    if (!color || !prompt.ends_with(' ')) return;
    // \1 around what takes no room on the line; it must not be the last thing.
    prompt_ = "\1" + std::string(kBold) + "\1" + prompt.substr(0, prompt.size() - 1) + "\1" +
              std::string(kPlain) + "\1 ";
  }

  std::string typed_before_interrupt() const {
    const LineInfo* info = ::el_line(edit_);
    if (info == nullptr || info->buffer == nullptr) return "";
    return {info->buffer, info->lastchar};
  }

  static std::string with_newlines(std::string_view text) {
    std::string line(text);
    while (line.ends_with('\n') || line.ends_with('\r')) line.pop_back();
    for (std::size_t at = 0; (at = line.find(kNewlineSignText, at)) != std::string::npos; ++at) {
      line.replace(at, kNewlineSignText.size(), "\n");
    }
    return line;
  }

  static std::string with_newline_signs(const std::string& text) {
    std::string line;
    for (const char c : text) {
      if (c == '\n') {
        line += kNewlineSignText;
      } else {
        line += c;
      }
    }
    return line;
  }

  void put(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), echo_);
    std::fflush(echo_);
  }

  static bool is_dumb() {
    const char* term = std::getenv("TERM");
    return term == nullptr || *term == '\0' || std::string_view(term) == "dumb";
  }

  Terminal terminal_;
  bool dumb_ = is_dumb();  // knows no escape sequences
  std::FILE* echo_;
  HistoryFile& file_;
  EditLine* edit_ = nullptr;
  History* history_ = nullptr;
  Keyboard keyboard_;
  std::string prompt_;
};

}  // namespace

std::unique_ptr<LineEditor> make_terminal_editor(const Terminal& terminal, HistoryFile& history) {
  return std::make_unique<TerminalEditor>(terminal, history);
}

}  // namespace linnet
