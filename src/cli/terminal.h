// What stands at the other end of the standard streams, and how text may be written there. Text
// that was not written by us (of a model, of a file) reaches a terminal only through
// terminal_safe(): no escape sequence passes.
#pragma once

#include <string>
#include <string_view>

namespace linnet {

enum class ColorMode { automatic, always, never };

struct Terminal {
  bool in = false;  // is the stream a terminal?
  bool out = false;
  bool err = false;
  bool out_color = false;
  bool err_color = false;
};

// Occupies the numbers of standard streams that were closed, or the next file opened would be taken
// for one. Reading then ends at once, and writing output fails as it should.
void ensure_standard_streams();

// NO_COLOR (not empty) and TERM=dumb switch colours off in the automatic mode.
Terminal detect_terminal(ColorMode mode);
// Columns of the terminal on standard error or output, else 80.
int terminal_width();

inline constexpr std::string_view kDim = "\x1b[2m";
inline constexpr std::string_view kBold = "\x1b[1m";
inline constexpr std::string_view kRed = "\x1b[31m";
inline constexpr std::string_view kGreen = "\x1b[32m";
inline constexpr std::string_view kYellow = "\x1b[33m";
inline constexpr std::string_view kPlain = "\x1b[0m";
inline constexpr std::string_view kEraseLine = "\r\x1b[K";

// `text` in a style when `color`, else as it is.
std::string styled(bool color, std::string_view style, std::string_view text);

// Control characters other than newline and tab become visible ("\x1b" with a backslash), a return
// before a newline is dropped, invalid UTF-8 becomes U+FFFD. Whole characters only: a stream is cut
// between characters.
std::string terminal_safe(std::string_view text);

// To standard error, unbuffered. Failures are ignored: there is no place left to report them.
void write_error_text(std::string_view text);
// The same, made safe where it is a terminal; for messages with foreign text in them.
void write_error_line(const Terminal& terminal, std::string_view text);

}  // namespace linnet
