#include "cli/completion_scripts.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

namespace linnet {
namespace {

// 'text' for a POSIX shell.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string flag_words(const std::vector<Option>& options) {
  std::string words;
  for (const Option& option : options) {
    words += fmt::format(" --{}", option.name);
    if (option.letter != 0) words += fmt::format(" -{}", option.letter);
    if (!option.negation.empty()) words += fmt::format(" --{}", option.negation);
  }
  return words;
}

std::string command_words(const std::vector<Command>& commands) {
  std::string words;
  for (const Command& command : commands) words += " " + command.name;
  return words.substr(1);
}

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

// Values that are not completed by the shell itself, after "--option": cases of a bash script.
std::string bash_value_case(const Option& option) {
  std::string pattern = "--" + option.name;
  if (option.letter != 0) pattern += fmt::format("|-{}", option.letter);
  std::string action = "return";
  if (!option.choices.empty()) {
    action = fmt::format("mapfile -t COMPREPLY < <(compgen -W {} -- \"$word\"); return",
                         quoted(joined(option.choices)));
  } else if (option.is_path) {
    action = fmt::format("_linnet_paths {} {}; return", quoted(option.path_ending),
                         quoted(joined(option.names)));
  }
  return fmt::format("    {}) {} ;;\n", pattern, action);
}

std::string bash_command_case(const Command& command) {
  std::string text =
      fmt::format("    {}) flags+={}", command.name, quoted(flag_words(command.options)));
  if (command.argument) {
    const Argument& argument = *command.argument;
    text += fmt::format("; values={} ending={} names={}", quoted(joined(argument.choices)),
                        quoted(argument.path_ending), quoted(joined(argument.names)));
  }
  return text + " ;;\n";
}

std::string zsh_escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

// Of an Option or an Argument. The functions of models stand in the script.
std::string zsh_values(const auto& source) {
  if (!source.choices.empty()) return fmt::format("({})", joined(source.choices));
  if (!source.names.empty()) return "_linnet_models";
  return source.is_path ? "_files" : "";
}

std::string zsh_action(const Option& option) {
  return option.is_switch() ? "" : fmt::format(":{}:{}", option.value, zsh_values(option));
}

// The one option whose values are names or paths.
std::string zsh_models(const std::vector<Option>& globals) {
  for (const Option& option : globals) {
    if (option.names.empty()) continue;
    return fmt::format("_alternative 'names:name:({})' 'files:path:_files -g \"*{}(-.)\"'",
                       joined(option.names), option.path_ending);
  }
  return "_files";
}

std::string zsh_option(const Option& option) {
  const std::string rest = fmt::format("[{}]{}", zsh_escaped(option.help), zsh_action(option));
  const std::string star = option.repeatable ? "*" : "";
  std::string text = fmt::format("      {} \\\n", quoted(star + "--" + option.name + rest));
  if (option.letter != 0)
    text += fmt::format("      {} \\\n", quoted(fmt::format("-{}{}", option.letter, rest)));
  if (!option.negation.empty()) {
    text += fmt::format("      {} \\\n", quoted(fmt::format("--{}[not: {}]", option.negation,
                                                            zsh_escaped(option.help))));
  }
  return text;
}

std::string zsh_argument(const Command& command) {
  if (!command.argument) return "";
  return fmt::format("      {} \\\n",
                     quoted(fmt::format("{}:{}:{}", command.argument->many ? "*" : "",
                                        command.argument->name, zsh_values(*command.argument))));
}

// Names, and the paths that end in `ending` first.
std::string fish_names(const std::vector<std::string>& names, const std::string& ending) {
  return quoted(fmt::format("{} (__fish_complete_suffix {})", joined(names), ending));
}

std::string fish_option(const Option& option, const std::string& condition) {
  std::string line = fmt::format("complete -c linnet -n {} -l {}", quoted(condition), option.name);
  if (option.letter != 0) line += fmt::format(" -s {}", option.letter);
  const bool any_file = option.is_path && option.names.empty();
  if (!option.is_switch()) line += any_file ? " -r -F" : " -x";
  if (!option.choices.empty()) line += " -a " + quoted(joined(option.choices));
  if (!option.names.empty()) line += " -a " + fish_names(option.names, option.path_ending);
  line += fmt::format(" -d {}\n", quoted(option.help));
  if (!option.negation.empty()) {
    line += fmt::format("complete -c linnet -n {} -l {} -d {}\n", quoted(condition),
                        option.negation, quoted("not: " + option.help));
  }
  return line;
}

}  // namespace

std::string bash_completion(const std::vector<Command>& commands,
                            const std::vector<Option>& globals) {
  std::string value_cases;
  for (const Option& option : globals) {
    if (!option.is_switch()) value_cases += bash_value_case(option);
  }
  std::string command_cases;
  for (const Command& command : commands) {
    for (const Option& option : command.options) {
      if (!option.is_switch()) value_cases += bash_value_case(option);
    }
    command_cases += bash_command_case(command);
  }
  return fmt::format(R"(# Completion of linnet for bash. To install it:
#   linnet completion bash > ~/.local/share/bash-completion/completions/linnet
# ENDING NAMES: names, folders, and files with the ending.
_linnet_paths() {{
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -W "$2" -- "$word"; compgen -d -- "$word"
    compgen -f -X "!*$1" -- "$word")
  mapfile -t COMPREPLY < <(printf '%s\n' "${{COMPREPLY[@]}}" | sort -u | grep .)
}}
_linnet() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
  local command="" values="" ending="" names="" flags={globals}
  local i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case " {commands} " in
      *" ${{COMP_WORDS[i]}} "*) command="${{COMP_WORDS[i]}}"; break ;;
    esac
  done
  COMPREPLY=()
  case "$before" in
{value_cases}  esac
  case "$command" in
    "") flags+=' --version'; values={quoted_commands} ;;
{command_cases}  esac
  if [[ "$word" == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$word")
  elif [[ -n "$values" ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
  else
    _linnet_paths "$ending" "$names"
  fi
}}
complete -F _linnet linnet
)",
                     fmt::arg("globals", quoted("--help -h" + flag_words(globals))),
                     fmt::arg("commands", command_words(commands)),
                     fmt::arg("value_cases", value_cases),
                     fmt::arg("quoted_commands", quoted(command_words(commands))),
                     fmt::arg("command_cases", command_cases));
}

std::string zsh_completion(const std::vector<Command>& commands,
                           const std::vector<Option>& globals) {
  std::string global_specs;
  for (const Option& option : globals) global_specs += zsh_option(option);
  std::string names;
  std::string cases;
  for (const Command& command : commands) {
    names += fmt::format("    {}\n", quoted(command.name + ":" + zsh_escaped(command.summary)));
    cases += fmt::format("    {})\n      _arguments \\\n", command.name);
    for (const Option& option : command.options) cases += zsh_option(option);
    cases += zsh_argument(command) + global_specs + "      '--help[print help]'\n      ;;\n";
  }
  return fmt::format(R"(#compdef linnet
# Completion of linnet for zsh. To install it:
#   linnet completion zsh > "${{fpath[1]}}/_linnet"
_linnet_models() {{
  {models}
}}
_linnet() {{
  local context state line
  local -a commands
  commands=(
{names}  )
  _arguments -C \
{globals}      '--version[print the version]' \
      '--help[print help]' \
      '1:command:->command' \
      '*::argument:->argument'
  case "$state" in
    command) _describe command commands; return ;;
    argument) ;;
    *) return ;;
  esac
  case "$line[1]" in
{cases}  esac
}}
if [ "$funcstack[1]" = "_linnet" ]; then
  _linnet "$@"
else
  compdef _linnet linnet
fi
)",
                     fmt::arg("names", names), fmt::arg("globals", global_specs),
                     fmt::arg("cases", cases), fmt::arg("models", zsh_models(globals)));
}

std::string fish_completion(const std::vector<Command>& commands,
                            const std::vector<Option>& globals) {
  std::string text =
      "# Completion of linnet for fish. To install it:\n"
      "#   linnet completion fish > ~/.config/fish/completions/linnet.fish\n"
      "complete -c linnet -n '__fish_use_subcommand' -f\n"
      "complete -c linnet -n '__fish_use_subcommand' -l version -d 'print the version'\n"
      "complete -c linnet -l help -s h -d 'print help'\n";
  for (const Option& option : globals) text += fish_option(option, "true");
  for (const Command& command : commands) {
    text += fmt::format("complete -c linnet -n '__fish_use_subcommand' -a {} -d {}\n", command.name,
                        quoted(command.summary));
    const std::string condition = "__fish_seen_subcommand_from " + command.name;
    for (const Option& option : command.options) text += fish_option(option, condition);
    if (!command.argument) continue;
    const Argument& argument = *command.argument;
    if (!argument.choices.empty()) {
      text += fmt::format("complete -c linnet -n {} -f -a {}\n", quoted(condition),
                          quoted(joined(argument.choices)));
    } else if (!argument.names.empty()) {
      text += fmt::format("complete -c linnet -n {} -f -a {}\n", quoted(condition),
                          fish_names(argument.names, argument.path_ending));
    }
  }
  return text;
}

}  // namespace linnet
