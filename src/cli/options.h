// Options as data. A command lists its options in a table; the parser, the help, the environment
// and the completion scripts read the tables. Every option has a variable, LINNET_<NAME>; an empty
// variable counts as absent, and the command line wins over the environment.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace linnet {

// The command line or the environment is wrong: the program prints the message and leaves with 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Takes the text of a value ("true" or "false" for a switch). A UsageError that it throws tells
// what was expected and found; the caller puts the name of the option or variable before it.
using OptionSetter = std::function<void(const std::string&)>;

struct Option {
  std::string name = {};                  // "threads": --threads
  char letter = 0;                        // 't': -t
  std::string value = {};                 // what the help calls the value; empty for a switch
  std::string help = {};                  // one line, without a full stop
  std::vector<std::string> choices = {};  // all values there are
  std::vector<std::string> names = {};    // beside a path: values to offer
  std::string path_ending = {};           // of the files to offer, ".gguf"
  std::string negation = {};              // "no-think": sets the switch to false
  std::string variable = {};              // when it is not LINNET_<NAME>
  std::string excludes = {};              // an option that must not stand beside this one
  bool repeatable = false;
  bool is_path = false;
  OptionSetter set = {};

  bool is_switch() const { return value.empty(); }
};

// What follows the options.
struct Argument {
  std::string name = {};  // "PROMPT"
  std::string help = {};
  std::vector<std::string> choices = {};
  std::vector<std::string> names = {};  // as in Option
  std::string path_ending = {};
  bool many = false;
  bool required = false;
  bool is_path = false;
  OptionSetter set = {};  // called once for each
};

OptionSetter to_flag(bool& target);
OptionSetter to_flag(std::optional<bool>& target);
OptionSetter to_text(std::string& target);  // valid UTF-8
OptionSetter to_text(std::optional<std::string>& target);
OptionSetter to_list(std::vector<std::string>& target);
OptionSetter to_path(std::string& target);  // any bytes
OptionSetter to_path(std::optional<std::string>& target);
OptionSetter to_choice(std::string& target, std::vector<std::string> choices);

struct IntegerRange {
  std::int64_t low = 0;
  std::int64_t high = INT64_MAX;
};
OptionSetter to_integer(std::int64_t& target, IntegerRange range);
OptionSetter to_integer(std::optional<std::int64_t>& target, IntegerRange range);
OptionSetter to_seed(std::optional<std::uint64_t>& target);  // all 64 bits

struct NumberRange {
  double low = 0;
  double high = 1;
  bool open_low = false;  // `low` itself is not in the range
};
OptionSetter to_number(std::optional<float>& target, NumberRange range);

std::int64_t parse_integer(const std::string& text, IntegerRange range);
std::uint64_t parse_seed(const std::string& text);
float parse_number(const std::string& text, NumberRange range);
bool parse_bool(const std::string& text);  // true, false, yes, no, on, off, 1, 0

std::string option_variable(const Option& option);
std::string negation_variable(const Option& option);

// Sets the options from the environment, but for those whose setters are in `given`. UsageError
// names the variable.
void apply_environment(const std::vector<Option>& options,
                       const std::vector<const OptionSetter*>& given = {});
// Calls `set`; a UsageError then names the source, "--threads" or "LINNET_THREADS".
void set_named(const OptionSetter& set, const std::string& value, const std::string& source);

// Environment variable; none when absent or empty.
std::optional<std::string> environment(const std::string& name);

}  // namespace linnet
