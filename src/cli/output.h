// Standard output, with every failure noticed: a full disk is Error{io}. Small writes are
// collected; flush() sends them, and finish() must be called before the program counts as
// successful.
#pragma once

#include <string>
#include <string_view>

#include "cli/terminal.h"

namespace linnet {

class Output {
 public:
  explicit Output(const Terminal& terminal) : terminal_(terminal) {}
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // Our own text.
  void write(std::string_view text);
  void line(std::string_view text);
  // Text of a model or a file: as it is to a file or pipe, made safe for a terminal.
  void foreign(std::string_view text);
  void flush();

  const Terminal& terminal() const { return terminal_; }

 private:
  Terminal terminal_;
  std::string waiting_;
};

}  // namespace linnet
