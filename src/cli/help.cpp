#include "cli/help.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace linnet {
namespace {

// "  -t, --threads N"
std::string option_heading(const Option& option) {
  std::string heading = option.letter != 0 ? fmt::format("  -{}, ", option.letter) : "      ";
  heading += "--" + option.name;
  if (!option.negation.empty()) heading += ", --" + option.negation;
  if (!option.is_switch()) heading += " " + option.value;
  return heading;
}

std::string option_explanation(const Option& option) {
  std::string text = option.help;
  if (!option.choices.empty()) text += fmt::format(": {}", fmt::join(option.choices, ", "));
  if (option.repeatable) text += "; may be repeated";
  const std::string negated = negation_variable(option);
  return text +
         fmt::format(" [{}{}{}]", option_variable(option), negated.empty() ? "" : ", ", negated);
}

std::string option_list(const std::vector<Option>& options, int width) {
  constexpr std::size_t kColumn = 30;
  std::string text;
  for (const Option& option : options) {
    std::string heading = option_heading(option);
    if (heading.size() + 2 > kColumn) {
      text += heading + "\n";
      heading.clear();
    }
    heading.resize(kColumn, ' ');
    text += heading + wrapped(option_explanation(option), kColumn, width) + "\n";
  }
  return text;
}

std::string example_list(const std::vector<std::string>& examples) {
  if (examples.empty()) return "";
  std::string text = "\nExamples:\n";
  for (const std::string& example : examples) text += "  " + example + "\n";
  return text;
}

}  // namespace

std::string wrapped(const std::string& text, int indent, int width) {
  const std::size_t room = static_cast<std::size_t>(std::max(20, width - 1 - indent));
  std::string out;
  std::size_t line = 0;
  const auto break_line = [&] {
    out += "\n" + std::string(static_cast<std::size_t>(indent), ' ');
    line = 0;
  };
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\n') {
      break_line();
      ++at;
      continue;
    }
    const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
    const std::string word = text.substr(at, end - at);
    if (line > 0 && line + 1 + word.size() > room) break_line();
    if (line > 0) out += " ";
    line += word.size() + (line > 0 ? 1 : 0);
    out += word;
    at = end < text.size() && text[end] == ' ' ? end + 1 : end;
  }
  return out;
}

std::string program_help(const std::vector<Command>& commands, const std::vector<Option>& globals,
                         int width) {
  std::string text =
      "Linnet runs SmolLM3, and language models of its shape, on this machine.\n\n"
      "Usage: linnet [OPTIONS] COMMAND [ARGUMENTS]\n\nCommands:\n";
  for (const Command& command : commands) {
    text += fmt::format("  {:<12}{}\n", command.name, wrapped(command.summary, 14, width));
  }
  text += "\nOptions of every command (and the environment variable of each):\n";
  text += option_list(globals, width);
  text += "  -h, --help                  print this help, or that of a command\n";
  text += "      --version               print the version\n";
  text += example_list({
      "linnet chat",
      "linnet run \"What is a linnet?\"",
      "git diff | linnet run \"Write a commit message for this change.\"",
      "linnet inspect tiny --tensors",
      "linnet run --help",
  });
  return text;
}

std::string command_help(const Command& command, const std::vector<Option>& globals, int width) {
  std::string usage = fmt::format("Usage: linnet {} [OPTIONS]", command.name);
  if (command.argument) {
    const std::string name = command.argument->name + (command.argument->many ? "..." : "");
    usage += command.argument->required ? " " + name : " [" + name + "]";
  }
  std::string text = usage + "\n\n" + wrapped(command.summary + ".", 0, width) + "\n";
  if (!command.details.empty()) text += "\n" + wrapped(command.details, 0, width) + "\n";
  if (command.argument) {
    text += fmt::format("\nArgument:\n  {:<28}{}\n", command.argument->name,
                        wrapped(command.argument->help, 30, width));
  }
  if (!command.options.empty()) text += "\nOptions:\n" + option_list(command.options, width);
  text += "\nOptions of every command:\n" + option_list(globals, width);
  text += "  -h, --help                  print this help\n";
  return text + example_list(command.examples);
}

}  // namespace linnet
