// Finds where a strict JSON value (RFC 8259) ends, in text that arrives in pieces: no raw control
// characters in strings, no trailing commas, NaN or comments. Every byte is looked at once; nothing
// is kept but one bit per open bracket, so any depth is safe. The value itself stays in the text.
// Bytes of other than ASCII are not checked: the text is valid UTF-8 already.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace linnet {

// Space, tab, CR, LF: the white space of JSON, and of model output.
inline constexpr std::string_view kJsonSpace = " \t\r\n";
constexpr bool is_json_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
std::string_view trim_json_space(std::string_view text);

class JsonScanner {
 public:
  enum class State {
    more,   // the value goes on
    done,   // `at` is behind the value
    fault,  // `at` is the byte that cannot stand there
  };
  // Reads on from `at`, which moves. White space before the value is skipped. A number at the top
  // ends with the first byte that is not part of it, so it stays `more` at the end of a piece.
  State scan(std::string_view text, std::size_t& at);
  // The text is over: whether what was read is a whole value.
  bool finish() const;

 private:
  enum class Expect : std::uint8_t {
    value,
    value_or_close,  // behind [
    key_or_close,    // behind {
    key,
    colon,
    comma_or_close,
    end,
    text,
    escape,
    hex,
    word,            // of true, false, null
    minus_digit,     // behind -
    zero,            // behind a leading 0
    digits,          // of the whole part
    point_digit,     // behind .
    fraction,        // at least one digit
    exponent,        // behind e
    exponent_digit,  // behind the sign
    power,           // at least one digit
  };
  enum class Step { next, again, fault };

  Step step(char c);
  Step structure(char c);
  Step begin_value(char c);
  Step text_step(char c);
  Step number_step(char c);
  Step open(bool object);
  Step close(bool object);
  Step end_value();

  std::vector<bool> objects_;  // of each open bracket: whether it is {
  Expect expect_ = Expect::value;
  bool is_key_ = false;  // the string that is being read
  int hex_left_ = 0;
  std::string_view word_;  // what must still come
};

// The end of the value that starts at `at` (white space before it allowed); nothing when the text
// is not a value there or is over too soon. `at` moves to the end, or to the fault.
std::optional<std::size_t> scan_json_value(std::string_view text, std::size_t& at);

struct JsonMember {
  std::string key;         // with its escapes resolved
  std::string_view value;  // source text
};
// The members of an object that a scanner has accepted, in their order, doubled keys too.
std::vector<JsonMember> json_members(std::string_view object);
// The value of the last member with this key.
std::optional<std::string_view> last_member(const std::vector<JsonMember>& members,
                                            std::string_view key);
// The content of a string that a scanner has accepted, quotes included. Half of a surrogate pair
// becomes U+FFFD.
std::string json_string_content(std::string_view quoted);

}  // namespace linnet
