#include "cli/options.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/error.h"
#include "cli/command.h"
#include "cli/sampling_options.h"

using namespace linnet;

namespace {

// An environment variable for one test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

std::string usage_error(const auto& action) {
  try {
    action();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("numbers are read whole and in range") {
  CHECK(parse_integer("12", {0, 12}) == 12);
  for (const char* text : {"", "abc", "1x", "13", "-1", "1.0", " 1", "99999999999999999999"}) {
    CHECK_THROWS_AS(parse_integer(text, {0, 12}), UsageError);
  }
  CHECK(parse_number("0.5", {0, 1}) == 0.5f);
  CHECK(parse_number("0", {0, 1}) == 0.0f);
  for (const char* text : {"", "nan", "inf", "1.5", "-0.1", "0,5", "0.5x"}) {
    CHECK_THROWS_AS(parse_number(text, {0, 1}), UsageError);
  }
  CHECK_THROWS_AS(parse_number("0", {0, 1, true}), UsageError);
  CHECK(parse_seed("18446744073709551615") == UINT64_MAX);
  CHECK_THROWS_AS(parse_seed("-1"), UsageError);
  CHECK_THROWS_AS(parse_seed("18446744073709551616"), UsageError);
}

TEST_CASE("the environment sets options, and a wrong value names its variable") {
  GlobalOptions globals;
  const auto table = global_option_table(globals);
  {
    const Variable threads("LINNET_THREADS", "3");
    const Variable mmap("LINNET_NO_MMAP", "yes");
    const Variable model("LINNET_MODEL", "");
    globals.model = "kept";
    apply_environment(table);
    CHECK(globals.threads == 3);
    CHECK(globals.no_mmap);
    CHECK(globals.model == "kept");  // an empty variable counts as absent
  }
  const Variable threads("LINNET_THREADS", "abc");
  const std::string message = usage_error([&] { apply_environment(table); });
  CHECK(message.find("LINNET_THREADS") == 0);
  CHECK(message.find("\"abc\"") != std::string::npos);
  // What the command line gives is not looked at.
  CHECK_NOTHROW(apply_environment(table, {&table[1].set}));
}

TEST_CASE("both names of a switch that can be negated work in the environment") {
  std::optional<bool> think;
  const std::vector<Option> table = {
      {.name = "think", .negation = "no-think", .set = to_flag(think)}};
  {
    const Variable variable("LINNET_NO_THINK", "1");
    apply_environment(table);
    CHECK(think == false);
  }
  const Variable variable("LINNET_THINK", "on");
  apply_environment(table);
  CHECK(think == true);
}

TEST_CASE("every option of every command has a help, a setter and a variable of its own") {
  GlobalOptions globals;
  const auto global_table = global_option_table(globals);
  for (const Command& command : all_commands()) {
    CAPTURE(command.name);
    CHECK_FALSE(command.summary.empty());
    CHECK_FALSE(command.examples.empty());
    CHECK(command.run != nullptr);
    std::vector<std::string> variables;
    std::vector<Option> all = global_table;
    all.insert(all.end(), command.options.begin(), command.options.end());
    for (const Option& option : all) {
      CAPTURE(option.name);
      CHECK_FALSE(option.help.empty());
      CHECK(option.set != nullptr);
      const std::string variable = option_variable(option);
      CHECK(variable.starts_with("LINNET_"));
      CHECK(std::find(variables.begin(), variables.end(), variable) == variables.end());
      variables.push_back(variable);
    }
  }
}

TEST_CASE("only what was set replaces the model's defaults") {
  GenerationConfig defaults;
  defaults.sample = true;
  defaults.temperature = 0.6f;
  defaults.top_p = 0.95f;
  SamplingOptions options;
  CHECK(options.applied_to(defaults).temperature == 0.6f);
  options.numbers["temperature"] = 0;
  CHECK_FALSE(options.applied_to(defaults).sample);
  CHECK(options.applied_to(defaults).top_p == 0.95f);
  options.numbers["temperature"] = 0.3;
  options.stop = {"END"};
  options.numbers["max_new_tokens"] = 7;
  defaults.max_length = 99;
  const GenerationConfig config = options.applied_to(defaults);
  CHECK(config.sample);
  CHECK(config.temperature == 0.3f);
  CHECK(config.stop_strings == std::vector<std::string>{"END"});
  CHECK(config.max_new_tokens == 7);
  CHECK_NOTHROW(config.check());
  // Mirostat replaces the model's filters, not those that were asked for.
  options.numbers["mirostat"] = 2;
  CHECK_NOTHROW(options.applied_to(defaults).check());
  CHECK(options.applied_to(defaults).mirostat == 2);
  options.numbers["top_k"] = 5;
  CHECK_THROWS_AS(options.applied_to(defaults).check(), Error);
}

TEST_CASE("asking for a way of drawing is asking for draws") {
  SamplingOptions options;
  CHECK_FALSE(options.applied_to({}).sample);
  options.numbers["frequency_penalty"] = 1;
  CHECK_FALSE(options.applied_to({}).sample);
  options.numbers["typical_p"] = 0.5;
  CHECK(options.applied_to({}).sample);
  options.numbers["temperature"] = 0;
  CHECK_FALSE(options.applied_to({}).sample);
}

TEST_CASE("/set changes settings by name, back to default, and refuses wrong values") {
  SamplingOptions options;
  CHECK(change_setting(options, "top_p", "0.5"));
  CHECK(options.applied_to({}).top_p == 0.5f);
  CHECK(change_setting(options, "top-k", "40"));
  CHECK(options.applied_to({}).top_k == 40);
  CHECK(change_setting(options, "top_p", "default"));
  CHECK(options.applied_to({}).top_p == 1.0f);
  CHECK(change_setting(options, "logit_bias", "12=-1.5"));
  CHECK(change_setting(options, "logit_bias", "7=false"));
  const std::vector<SequenceBias> biases = {{{12}, -1.5f}, {{7}, -INFINITY}};
  CHECK(options.applied_to({}).sequence_bias == biases);
  for (const char* wrong : {"12", "=1", "-1=1", "12=x", "12="}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(change_setting(options, "logit_bias", wrong), UsageError);
  }
  CHECK(change_setting(options, "dry_breaker", "#"));
  CHECK(options.applied_to({}).dry_breaker_texts == std::vector<std::string>{"#"});
  CHECK(change_setting(options, "dry_breaker", "default"));
  CHECK(options.applied_to({}).dry_breaker_texts.size() == 4);
  CHECK_FALSE(change_setting(options, "warmth", "1"));
  const std::string message = usage_error([&] { change_setting(options, "temperature", "hot"); });
  CHECK(message.find("temperature") == 0);
  CHECK(settings_text(options, {}).find("top_k               40") != std::string::npos);
}
