// Shows an answer while it comes. The answer goes to standard output. The reasoning, if it is shown
// at all, goes dimmed before it: into the same stream in a chat on a terminal, else to standard
// error, so that the answer stays alone.
#pragma once

#include "cli/output.h"
#include "cli/think_splitter.h"

namespace linnet {

class AnswerPrinter {
 public:
  struct Style {
    bool show_reasoning = false;
    bool reasoning_on_output = false;
    bool live = false;  // send every piece at once
  };
  AnswerPrinter(Output& out, Style style) : out_(out), style_(style) {}

  void print(AnswerPart part, std::string_view text);
  // Ends the line and the colours, and sends everything.
  void finish();

 private:
  void begin(AnswerPart part);
  void end_part();

  Output& out_;
  Style style_;
  bool printing_ = false;
  AnswerPart part_ = AnswerPart::answer;
  bool waiting_shown_ = false;
  bool line_open_ = false;
};

}  // namespace linnet
