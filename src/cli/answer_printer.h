// Shows an answer while it comes. The answer goes to standard output, a tool call as a line of its
// own: name({"argument": value}). The reasoning, if it is shown at all, goes dimmed before it: into
// the same stream in a chat on a terminal, else to standard error, so that the answer stays alone.
#pragma once

#include "cli/output.h"
#include "text/output_parser.h"

namespace linnet {

class AnswerPrinter {
 public:
  struct Style {
    bool show_reasoning = false;
    bool reasoning_on_output = false;
    bool live = false;  // send every piece at once
  };
  AnswerPrinter(Output& out, Style style) : out_(out), style_(style) {}

  void print(const OutputDelta& delta);
  // Ends the line and the colours, and sends everything.
  void finish();

 private:
  enum class Part { reasoning, answer };

  void print_answer(const OutputDelta& delta);
  void print_reasoning(std::string_view text);
  void show_waiting();
  void end_waiting();
  void begin(Part part);
  void end_part();

  Output& out_;
  Style style_;
  bool printing_ = false;
  Part part_ = Part::answer;
  bool waiting_shown_ = false;
  bool line_open_ = false;
  bool after_call_ = false;
};

}  // namespace linnet
