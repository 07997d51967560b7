// Literals of Python as JSON values: strings, whole numbers, finite floats, True, False, None, and
// lists, tuples (as lists) and dicts (with text keys) of them. The text has "\n" line ends only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace linnet {

// Numbers without a sign, and strings; `at` moves behind them. Nothing where Python sees a fault,
// another kind of literal, or a float that is not finite.
std::optional<Json> read_python_number(std::string_view text, std::size_t& at);
// Whether a string literal begins here: a quote, or a prefix and a quote.
bool begins_python_string(std::string_view text, std::size_t at);
// One string, without those that are adjacent. Bytes and formatted strings are nothing.
std::optional<std::string> read_python_string(std::string_view text, std::size_t& at);

class PythonReader {
 public:
  explicit PythonReader(std::string_view text) : text_(text) {}

  // The byte at hand; NUL at the end.
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool at_end() const { return at_ >= text_.size(); }
  bool take(char c);
  // Behind a newline: the columns before the next statement, blank lines and comments passed.
  std::size_t skip_to_statement();
  // Within a line. Inside of brackets newlines and comments are space as well.
  void skip_space();
  // A name that is no keyword.
  std::optional<std::string> name();
  // An opening bracket; false when they nest too deep.
  bool open(char bracket);
  bool close(char bracket);
  std::optional<Json> literal();

 private:
  void skip_comment();
  std::optional<Json> negative();
  std::optional<Json> word();
  std::optional<Json> text();
  std::optional<Json> list();
  std::optional<Json> tuple();
  std::optional<Json> dict();
  bool element(Json::Array& elements);

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool plain_number_ = false;  // the last literal may get a minus
};

}  // namespace linnet
