// Where the user's lines come from: an editor with history on a terminal, plain reading elsewhere.
#pragma once

#include <memory>
#include <string>

#include "cli/history_file.h"
#include "cli/terminal.h"

namespace linnet {

enum class ReadOutcome {
  line,
  end,          // Ctrl-D, or the end of the file
  interrupted,  // Ctrl-C: what was typed so far is in the line
};

class LineEditor {
 public:
  virtual ~LineEditor() = default;
  // The line without its newline. A pasted text may hold newlines. Error{io} when reading fails.
  virtual ReadOutcome read(const std::string& prompt, std::string& line) = 0;
  // Whether read() would return without waiting for more input; it may be the end, or an error.
  virtual bool ready() { return false; }
  // Puts an input, of one line or several, into the history.
  virtual void remember(const std::string& typed) { (void)typed; }
};

// Needs a terminal on standard input; the prompt and the echo go to standard output if that is one
// too, else to standard error. The history must live longer.
std::unique_ptr<LineEditor> make_terminal_editor(const Terminal& terminal, HistoryFile& history);

// Lines of a file descriptor; no prompt. A line over `limit` bytes is Error{invalid_argument}
// naming `name`; the next read() goes on behind that line.
std::unique_ptr<LineEditor> make_plain_reader(int fd, std::size_t limit = 16u << 20,
                                              const std::string& name = "standard input");

// Everything up to the end of a descriptor; over `limit` bytes is Error{invalid_argument} naming
// `name`.
std::string read_all(int fd, const std::string& name, std::size_t limit = 64u << 20);

}  // namespace linnet
