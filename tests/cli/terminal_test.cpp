#include "cli/terminal.h"

#include <doctest/doctest.h>

#include "cli/help.h"
#include "cli/nearest.h"
#include "cli/progress_bar.h"
#include "cli/user_input.h"

using namespace linnet;

TEST_CASE("no control character passes to a terminal") {
  CHECK(terminal_safe("plain\n\ttext, naïve, 日本語") == "plain\n\ttext, naïve, 日本語");
  CHECK(terminal_safe("\x1b[31mred\x1b]0;title\x07") == "\\x1b[31mred\\x1b]0;title\\x07");
  CHECK(terminal_safe("a\r\nb\rc") == "a\nb\\x0dc");
  CHECK(terminal_safe("\x7f\x08") == "\\x7f\\x08");
  // C1 controls: U+009B begins a sequence as ESC [ does.
  CHECK(terminal_safe("\xC2\x9B"
                      "31m") == "\\x9b31m");
  CHECK(terminal_safe("\x9B"
                      "31m") ==
        "\xEF\xBF\xBD"
        "31m");
  CHECK(terminal_safe("cut \xE6\x97") == "cut \xEF\xBF\xBD");
  CHECK(terminal_safe(std::string("\0", 1)) == "\\x00");
  for (int byte = 0; byte < 256; ++byte) {
    if (byte == '\n' || byte == '\t') continue;
    for (const char c : terminal_safe(std::string(1, static_cast<char>(byte)))) {
      CHECK(static_cast<unsigned char>(c) >= 0x20);
      CHECK(c != 0x7F);
    }
  }
}

TEST_CASE("styles are only there when wanted") {
  CHECK(styled(false, kDim, "x") == "x");
  CHECK(styled(true, kDim, "x") == "\x1b[2mx\x1b[0m");
}

TEST_CASE("the progress bar fits every width") {
  for (int width = 1; width < 120; ++width) {
    for (const double fraction : {-1.0, 0.0, 0.37, 1.0, 2.0, 0.0 / 0.0}) {
      CHECK(progress_text("Loading tiny", fraction, width, false).size() <=
            static_cast<std::size_t>(width));
    }
  }
  CHECK(progress_text("L", 0.5, 30, false).find("#") != std::string::npos);
  CHECK(progress_text("L", 0.5, 30, false).find(" 50 %") != std::string::npos);
  CHECK(progress_text("L", 1.0, 30, true).find("100 %") != std::string::npos);
}

TEST_CASE("the nearest name is found for slips only") {
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("think", "thikn") == 1);
  CHECK(edit_distance("kitten", "sitting") == 3);
  const std::vector<std::string> names = {"/think", "/no_think", "/tokens", "/bye", "/help"};
  CHECK(nearest_name("/thikn", names) == "/think");
  CHECK(nearest_name("/byee", names) == "/bye");
  CHECK(nearest_name("/tok", names) == "/tokens");
  CHECK(nearest_name("/etc/passwd", names) == std::nullopt);
  CHECK(nearest_name(std::string(100000, 'x'), names) == std::nullopt);
  CHECK(nearest_name("", names) == std::nullopt);
}

TEST_CASE("three quotes gather several lines") {
  UserInput input;
  CHECK(input.add("one line"));
  CHECK_FALSE(input.quoted());
  CHECK(input.take() == "one line");
  CHECK_FALSE(input.add("\"\"\""));
  CHECK(input.pending());
  CHECK_FALSE(input.add("first"));
  CHECK_FALSE(input.add(""));
  CHECK(input.add("second\"\"\" "));
  CHECK(input.take() == "first\n\nsecond");
  CHECK(input.add("\"\"\"all in one\"\"\""));
  CHECK(input.quoted());
  CHECK(input.take() == "all in one");
  CHECK_FALSE(input.add("\"\"\"begun"));
  CHECK(input.add("\"\"\""));
  CHECK(input.take() == "begun");
  CHECK_FALSE(input.add("\"\"\"begun"));
  input.cancel();
  CHECK_FALSE(input.pending());
  CHECK(input.add("after"));
  CHECK(input.take() == "after");
}

TEST_CASE("help text is wrapped at its width") {
  const std::string text = wrapped("one two three four five six seven eight nine ten", 4, 30);
  CHECK(text.find("\n    ") != std::string::npos);
  std::size_t line = 4;
  for (const char c : text) {
    line = c == '\n' ? 0 : line + 1;
    CHECK(line < 30);
  }
}
