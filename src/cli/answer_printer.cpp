#include "cli/answer_printer.h"

#include <fmt/core.h>

#include "cli/interrupt.h"

namespace linnet {

namespace {
constexpr std::string_view kWaiting = "thinking ...";
}

void AnswerPrinter::print(const OutputDelta& delta) {
  if (delta.kind != OutputKind::reasoning) return print_answer(delta);
  style_.show_reasoning ? print_reasoning(delta.text) : show_waiting();
}

void AnswerPrinter::print_answer(const OutputDelta& delta) {
  if (!printing_ || part_ != Part::answer) begin(Part::answer);
  if (delta.kind == OutputKind::tool_call) {
    if (line_open_) out_.write("\n");
    out_.foreign(fmt::format("{}({})\n", delta.call.name, delta.call.arguments));
    line_open_ = false;
  } else {
    std::string_view text = delta.text;
    // Text behind a call begins with a newline, which the line of the call has had.
    if (after_call_ && text.starts_with('\n')) text.remove_prefix(1);
    out_.foreign(text);
    line_open_ = !text.ends_with('\n');
  }
  after_call_ = delta.kind == OutputKind::tool_call;
  if (style_.live) out_.flush();
}

void AnswerPrinter::print_reasoning(std::string_view text) {
  if (!printing_ || part_ != Part::reasoning) begin(Part::reasoning);
  if (style_.reasoning_on_output) {
    out_.foreign(text);
    if (style_.live) out_.flush();
  } else {
    write_error_text(out_.terminal().err ? terminal_safe(text) : std::string(text));
  }
  line_open_ = !text.ends_with('\n');
}

void AnswerPrinter::show_waiting() {
  const Terminal& terminal = out_.terminal();
  if (!style_.live || waiting_shown_ || !terminal.err) return;
  write_error_text(styled(terminal.err_color, kDim, kWaiting));
  waiting_shown_ = true;
  set_farewell("\r\x1b[K");
}

void AnswerPrinter::end_waiting() {
  if (!waiting_shown_) return;
  write_error_text(kEraseLine);
  waiting_shown_ = false;
  set_farewell(nullptr);
}

void AnswerPrinter::begin(Part part) {
  end_waiting();
  end_part();
  printing_ = true;
  part_ = part;
  if (part == Part::answer) return;
  const Terminal& terminal = out_.terminal();
  if (style_.reasoning_on_output && terminal.out_color) out_.write(kDim);
  if (!style_.reasoning_on_output && terminal.err_color) write_error_text(kDim);
  if (terminal.out_color || terminal.err_color) set_farewell("\x1b[0m\n");
}

// After reasoning an empty line follows.
void AnswerPrinter::end_part() {
  if (!printing_ || part_ == Part::answer) return;
  const Terminal& terminal = out_.terminal();
  const std::string_view ending = line_open_ ? "\n\n" : "\n";
  if (style_.reasoning_on_output) {
    out_.write(terminal.out_color ? std::string(kPlain) : "");
    out_.write(ending);
  } else {
    write_error_text(terminal.err_color ? std::string(kPlain) : "");
    write_error_text(ending);
  }
  line_open_ = false;
  set_farewell(nullptr);
}

void AnswerPrinter::finish() {
  end_waiting();
  end_part();
  // An answer is whole lines, also when it is empty: one line in, one answer out.
  if (!printing_ || part_ == Part::reasoning || line_open_) out_.write("\n");
  out_.flush();
  printing_ = false;
  line_open_ = false;
  after_call_ = false;
}

}  // namespace linnet
