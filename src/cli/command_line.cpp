#include <fmt/core.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <exception>
#include <new>

#include "base/error.h"
#include "base/log.h"
#include "base/mapped_files.h"
#include "base/memory_account.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/interrupt.h"
#include "cli/nearest.h"
#include "cli/telemetry_file.h"
#include "cli/version.h"

namespace linnet {
namespace {

// What the command line assigns. Kept until the environment has been read, which it overrides.
struct Assignment {
  const OptionSetter* set;
  std::string source;
  std::string value;
};
using Assignments = std::vector<Assignment>;

void add_option(CLI::App& app, const Option& option, Assignments& found) {
  std::string names = "--" + option.name;
  if (option.letter != 0) names += fmt::format(",-{}", option.letter);
  CLI::Option* added = nullptr;
  if (option.is_switch()) {
    if (!option.negation.empty()) names += ",!--" + option.negation;
    added = app.add_flag_function(names, [&](std::int64_t count) {
      found.push_back({&option.set, "--" + option.name, count >= 0 ? "true" : "false"});
    });
  } else {
    added = app.add_option(names, [&](const CLI::results_t& values) {
      for (const std::string& value : values) {
        found.push_back({&option.set, "--" + option.name, value});
      }
      return true;
    });
    added->expected(1);
    added->multi_option_policy(option.repeatable ? CLI::MultiOptionPolicy::TakeAll
                                                 : CLI::MultiOptionPolicy::TakeLast);
  }
  // Otherwise a value in brackets would be taken apart, and a second word swallowed.
  added->allow_extra_args(false);
}

void add_exclusions(CLI::App& app, const std::vector<Option>& options) {
  for (const Option& option : options) {
    if (option.excludes.empty()) continue;
    app.get_option("--" + option.name)->excludes(app.get_option("--" + option.excludes));
  }
}

void add_argument(CLI::App& app, const Argument& argument, Assignments& found) {
  CLI::Option* added = app.add_option(argument.name, [&](const CLI::results_t& values) {
    for (const std::string& value : values) found.push_back({&argument.set, argument.name, value});
    return true;
  });
  if (argument.many) {
    added->expected(argument.required ? 1 : 0, CLI::detail::expected_max_vector_size);
    added->allow_extra_args();
  } else {
    added->expected(1)->allow_extra_args(false);
  }
}

// The whole grammar. The tables and `found` must outlive the app.
void build_app(CLI::App& app, const std::vector<Command>& commands,
               const std::vector<Option>& globals, Assignments& found) {
  app.require_subcommand(0, 1);
  app.set_help_flag("-h,--help");
  app.add_flag("--version");
  for (const Option& option : globals) add_option(app, option, found);
  for (const Command& command : commands) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    sub->fallthrough();
    for (const Option& option : command.options) add_option(*sub, option, found);
    add_exclusions(*sub, command.options);
    if (command.argument) add_argument(*sub, *command.argument, found);
  }
}

const Command* find_command(const std::vector<Command>& commands, const CLI::App& app) {
  for (const Command& command : commands) {
    if (app.got_subcommand(command.name)) return &command;
  }
  return nullptr;
}

std::vector<std::string> option_names(const std::vector<Option>& globals, const Command* command) {
  std::vector<std::string> names = {"--help"};
  const auto add = [&](const std::vector<Option>& options) {
    for (const Option& option : options) {
      names.push_back("--" + option.name);
      if (!option.negation.empty()) names.push_back("--" + option.negation);
    }
  };
  add(globals);
  if (command != nullptr) add(command->options);
  return names;
}

[[noreturn]] void refuse_argument(const Command& command, const std::string& word) {
  const bool one = command.argument && !command.argument->many;
  throw UsageError(fmt::format("unexpected argument \"{}\"{}", word,
                               one ? " (quote text of several words)" : ""));
}

// What to say about words that nothing in the grammar takes.
[[noreturn]] void refuse_extras(const std::vector<std::string>& extras,
                                const std::vector<std::string>& options,
                                const std::vector<Command>& commands, const Command* command) {
  const std::string& word = extras.front();
  const bool is_option = word.size() > 1 && word[0] == '-';
  if (!is_option && command != nullptr) refuse_argument(*command, word);
  std::vector<std::string> names = options;
  std::string message;
  if (is_option) {
    message = fmt::format("unknown option {}", word.substr(0, word.find('=')));
  } else {
    message = fmt::format("unknown command \"{}\"", word);
    names.clear();
    for (const Command& known : commands) names.push_back(known.name);
  }
  const auto nearest = nearest_name(word.substr(0, word.find('=')), names);
  if (nearest) {
    message += fmt::format("; did you mean {}?", *nearest);
  } else {
    message += fmt::format("; linnet {}--help lists them",
                           is_option && command != nullptr ? command->name + " " : "");
  }
  throw UsageError(message);
}

bool takes_value(const std::vector<Option>& options, std::string_view word) {
  return std::any_of(options.begin(), options.end(), [&](const Option& option) {
    return !option.is_switch() && word == "--" + option.name + "=";
  });
}

struct Words {
  std::vector<std::string> grammar;
  std::vector<std::string> plain;  // behind "--": arguments, whatever they look like
};

// "linnet help run" means "linnet run --help"; "--name=" is an empty value, for which CLI11 would
// take the next word.
Words spelled_out(int argc, char** argv, const std::vector<Command>& commands,
                  const std::vector<Option>& globals) {
  Words all;
  std::vector<std::string>& words = all.grammar;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") {
      all.plain.assign(argv + i + 1, argv + argc);
      break;
    }
    const bool empty_value =
        takes_value(globals, word) ||
        std::any_of(commands.begin(), commands.end(),
                    [&](const Command& command) { return takes_value(command.options, word); });
    words.emplace_back(empty_value ? word.substr(0, word.size() - 1) : word);
    if (empty_value) words.emplace_back();
  }
  if (!words.empty() && words[0] == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  return all;
}

// Adds the words behind "--" to what the command line assigns.
void take_arguments(const Command& command, const std::vector<std::string>& plain,
                    Assignments& found) {
  if (!command.argument) {
    if (!plain.empty()) refuse_argument(command, plain.front());
    return;
  }
  const Argument& argument = *command.argument;
  const auto given = std::count_if(found.begin(), found.end(), [&](const Assignment& each) {
    return each.set == &argument.set;
  });
  const std::size_t room = argument.many ? plain.size() : given > 0 ? 0 : 1;
  if (plain.size() > room) refuse_argument(command, plain[room]);
  for (const std::string& word : plain) found.push_back({&argument.set, argument.name, word});
  if (argument.required && given == 0 && plain.empty()) {
    throw UsageError(argument.name + " is missing: " + argument.help);
  }
}

// The command that was asked for; nullptr when help or the version was printed.
const Command* parse(int argc, char** argv, const std::vector<Command>& commands,
                     const std::vector<Option>& globals, Assignments& found) {
  CLI::App app;
  build_app(app, commands, globals, found);
  Output out(detect_terminal(ColorMode::automatic));
  Words words = spelled_out(argc, argv, commands, globals);
  try {
    // CLI11 takes them from the back.
    std::reverse(words.grammar.begin(), words.grammar.end());
    app.parse(std::move(words.grammar));
  } catch (const CLI::CallForHelp&) {
    const Command* command = find_command(commands, app);
    const std::vector<std::string> extras = app.remaining(true);
    if (command == nullptr && !extras.empty()) {
      refuse_extras(extras, option_names(globals, command), commands, command);
    }
    out.write(command != nullptr ? command_help(*command, globals, terminal_width())
                                 : program_help(commands, globals, terminal_width()));
    out.flush();
    return nullptr;
  } catch (const CLI::ExtrasError&) {
    const Command* command = find_command(commands, app);
    refuse_extras(app.remaining(true), option_names(globals, command), commands, command);
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string text = error.what();
    throw UsageError(text.substr(0, text.find(':')) + ": a value is missing");
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  if (app.count("--version") > 0) {
    out.line(fmt::format("linnet {}", kVersion));
    out.flush();
    return nullptr;
  }
  const Command* command = find_command(commands, app);
  if (command == nullptr) throw UsageError("a command is missing; linnet --help lists them");
  take_arguments(*command, words.plain, found);
  return command;
}

ColorMode color_mode(const std::string& name) {
  if (name == "always") return ColorMode::always;
  return name == "never" ? ColorMode::never : ColorMode::automatic;
}

}  // namespace

int run_command_line(int argc, char** argv) {
  ensure_standard_streams();
  install_signal_handlers();
  install_mapped_file_handler("linnet");
  GlobalOptions globals;
  const std::vector<Option> global_options = global_option_table(globals);
  const std::vector<Command> commands = all_commands();
  Assignments found;
  const Command* command = parse(argc, argv, commands, global_options, found);
  if (command == nullptr) return 0;

  std::vector<const OptionSetter*> given;
  for (const Assignment& each : found) given.push_back(each.set);
  apply_environment(global_options, given);
  apply_environment(command->options, given);
  for (const Assignment& each : found) set_named(*each.set, each.value, each.source);

  set_log_level(log_level_from_name(globals.log_level));
  set_memory_limit(static_cast<std::int64_t>(globals.lane.memory_limit));
  Output out(detect_terminal(color_mode(globals.color)));
  CommandContext context{globals, out};
  const TelemetryFile telemetry(globals.telemetry);
  const int status = command->run(context);
  out.flush();
  return status;
}

namespace {

int report_to(const Terminal& terminal) {
  const auto report = [&](std::string_view message) {
    write_error_text(styled(terminal.err_color, kRed, "linnet: "));
    write_error_line(terminal, message);
  };
  try {
    throw;
  } catch (const UsageError& error) {
    report(error.what());
    return 2;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) return interrupt_status();
    report(error.what());
    return 1;
  } catch (const std::bad_alloc&) {
    report("out of memory; a smaller context or model needs less");
    return 1;
  } catch (const std::exception& error) {
    report(error.what());
    return 1;
  }
}

}  // namespace

int report_exception() {
  try {
    return report_to(detect_terminal(ColorMode::automatic));
  } catch (...) {
    // Not even the message found memory.
    constexpr std::string_view kText = "linnet: out of memory\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kText.data(), kText.size());
    return 1;
  }
}

}  // namespace linnet
