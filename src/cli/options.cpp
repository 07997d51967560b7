#include "cli/options.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <memory>

#include "base/json.h"
#include "base/utf8.h"

namespace linnet {
namespace {

std::string variable_of(const std::string& name) {
  std::string variable = "LINNET_";
  for (const char c : name) {
    variable += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return variable;
}

template <typename T>
T parse_all(const std::string& text, const std::string& expected) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  if (code != std::errc{} || stop != end) {
    throw UsageError(fmt::format("expected {}, found {}", expected, json_quote(text)));
  }
  return value;
}

const std::string& checked_text(const std::string& text) {
  if (const auto offset = find_invalid_utf8(text)) {
    throw UsageError(fmt::format("invalid UTF-8 at byte {}", *offset));
  }
  return text;
}

std::string range_text(IntegerRange range) {
  if (range.high == INT64_MAX) return fmt::format("a whole number of at least {}", range.low);
  return fmt::format("a whole number from {} to {}", range.low, range.high);
}

std::string range_text(NumberRange range) {
  if (std::isinf(range.high)) {
    return fmt::format("a number {} {}", range.open_low ? "above" : "of at least", range.low);
  }
  return fmt::format("a number {} {} {} {}", range.open_low ? "above" : "from", range.low,
                     range.open_low ? "and up to" : "to", range.high);
}

}  // namespace

std::int64_t parse_integer(const std::string& text, IntegerRange range) {
  const std::string expected = range_text(range);
  const auto value = parse_all<std::int64_t>(text, expected);
  if (value < range.low || value > range.high) {
    throw UsageError(fmt::format("expected {}, found {}", expected, value));
  }
  return value;
}

std::uint64_t parse_seed(const std::string& text) {
  return parse_all<std::uint64_t>(text, "a whole number from 0 to 18446744073709551615");
}

float parse_number(const std::string& text, NumberRange range) {
  const std::string expected = range_text(range);
  const auto value = parse_all<double>(text, expected);
  const bool low_enough = range.open_low ? value > range.low : value >= range.low;
  if (!std::isfinite(value) || !low_enough || value > range.high) {
    throw UsageError(fmt::format("expected {}, found {}", expected, text));
  }
  return static_cast<float>(value);
}

// "a, b or c"
std::string alternatives(const std::vector<std::string>& choices) {
  std::string text;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) text += i + 1 < choices.size() ? ", " : " or ";
    text += choices[i];
  }
  return text;
}

bool parse_bool(const std::string& text) {
  std::string word = text;
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const char* yes : {"1", "true", "yes", "on"}) {
    if (word == yes) return true;
  }
  for (const char* no : {"0", "false", "no", "off"}) {
    if (word == no) return false;
  }
  throw UsageError(fmt::format("expected true or false, found {}", json_quote(text)));
}

OptionSetter to_flag(bool& target) {
  return [&target](const std::string& text) { target = parse_bool(text); };
}

OptionSetter to_flag(std::optional<bool>& target) {
  return [&target](const std::string& text) { target = parse_bool(text); };
}

OptionSetter to_text(std::string& target) {
  return [&target](const std::string& text) { target = checked_text(text); };
}

OptionSetter to_text(std::optional<std::string>& target) {
  return [&target](const std::string& text) { target = checked_text(text); };
}

OptionSetter to_list(std::vector<std::string>& target) {
  return [&target](const std::string& text) { target.push_back(checked_text(text)); };
}

OptionSetter to_path(std::string& target) {
  return [&target](const std::string& text) { target = text; };
}

OptionSetter to_path(std::optional<std::string>& target) {
  return [&target](const std::string& text) { target = text; };
}

OptionSetter to_choice(std::string& target, std::vector<std::string> choices) {
  return [&target, choices = std::move(choices)](const std::string& text) {
    if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
      throw UsageError(
          fmt::format("expected {}, found {}", alternatives(choices), json_quote(text)));
    }
    target = text;
  };
}

OptionSetter to_integer(std::int64_t& target, IntegerRange range) {
  return [&target, range](const std::string& text) { target = parse_integer(text, range); };
}

OptionSetter to_integer(std::optional<std::int64_t>& target, IntegerRange range) {
  return [&target, range](const std::string& text) { target = parse_integer(text, range); };
}

OptionSetter to_seed(std::optional<std::uint64_t>& target) {
  return [&target](const std::string& text) { target = parse_seed(text); };
}

OptionSetter to_number(std::optional<float>& target, NumberRange range) {
  return [&target, range](const std::string& text) { target = parse_number(text, range); };
}

std::string option_variable(const Option& option) {
  return option.variable.empty() ? variable_of(option.name) : option.variable;
}

std::string negation_variable(const Option& option) {
  return option.negation.empty() ? "" : variable_of(option.negation);
}

void apply_environment(const std::vector<Option>& options,
                       const std::vector<const OptionSetter*>& given) {
  for (const Option& option : options) {
    if (std::find(given.begin(), given.end(), &option.set) != given.end()) continue;
    const std::string variable = option_variable(option);
    if (const auto value = environment(variable)) set_named(option.set, *value, variable);
    if (option.negation.empty()) continue;
    const std::string negated = negation_variable(option);
    if (const auto value = environment(negated)) {
      const auto set_opposite = [&](const std::string& text) {
        option.set(parse_bool(text) ? "false" : "true");
      };
      set_named(set_opposite, *value, negated);
    }
  }
}

void set_named(const OptionSetter& set, const std::string& value, const std::string& source) {
  try {
    set(value);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", source, error.what()));
  }
}

std::optional<std::string> environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

}  // namespace linnet
