#include "cli/answer_printer.h"

#include "cli/interrupt.h"

namespace linnet {

namespace {
constexpr std::string_view kWaiting = "thinking ...";
}

void AnswerPrinter::print(AnswerPart part, std::string_view text) {
  if (text.empty()) return;
  if (part == AnswerPart::reasoning && !style_.show_reasoning) {
    const Terminal& terminal = out_.terminal();
    if (!style_.live || waiting_shown_ || !terminal.err) return;
    write_error_text(styled(terminal.err_color, kDim, kWaiting));
    waiting_shown_ = true;
    set_farewell("\r\x1b[K");
    return;
  }
  if (!printing_ || part_ != part) begin(part);
  if (part == AnswerPart::answer || style_.reasoning_on_output) {
    out_.foreign(text);
    if (style_.live) out_.flush();
  } else {
    write_error_text(out_.terminal().err ? terminal_safe(text) : std::string(text));
  }
  line_open_ = !text.ends_with('\n');
}

void AnswerPrinter::begin(AnswerPart part) {
  if (waiting_shown_) {
    write_error_text(kEraseLine);
    waiting_shown_ = false;
    set_farewell(nullptr);
  }
  end_part();
  printing_ = true;
  part_ = part;
  if (part == AnswerPart::answer) return;
  const Terminal& terminal = out_.terminal();
  if (style_.reasoning_on_output && terminal.out_color) out_.write(kDim);
  if (!style_.reasoning_on_output && terminal.err_color) write_error_text(kDim);
  if (terminal.out_color || terminal.err_color) set_farewell("\x1b[0m\n");
}

// After reasoning an empty line follows.
void AnswerPrinter::end_part() {
  if (!printing_ || part_ == AnswerPart::answer) return;
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
  if (waiting_shown_) {
    write_error_text(kEraseLine);
    waiting_shown_ = false;
    set_farewell(nullptr);
  }
  end_part();
  // An answer is whole lines, also when it is empty: one line in, one answer out.
  if (!printing_ || part_ == AnswerPart::reasoning || line_open_) out_.write("\n");
  out_.flush();
  printing_ = false;
  line_open_ = false;
}

}  // namespace linnet
