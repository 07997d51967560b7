#include <memory>

#include "cli/command.h"
#include "cli/completion_scripts.h"

namespace linnet {

Command make_completion_command() {
  const std::vector<std::string> shells = {"bash", "zsh", "fish"};
  auto shell = std::make_shared<std::string>();
  Command command;
  command.name = "completion";
  command.summary = "Print a completion script for a shell";
  command.examples = {"source <(linnet completion bash)",
                      "linnet completion fish > ~/.config/fish/completions/linnet.fish"};
  command.argument = Argument{.name = "SHELL",
                              .help = "bash, zsh or fish",
                              .choices = shells,
                              .required = true,
                              .set = to_choice(*shell, shells)};
  command.run = [shell](CommandContext& context) {
    const std::vector<Command> commands = all_commands();
    GlobalOptions ignored;
    const std::vector<Option> globals = global_option_table(ignored);
    if (*shell == "bash") context.out.write(bash_completion(commands, globals));
    if (*shell == "zsh") context.out.write(zsh_completion(commands, globals));
    if (*shell == "fish") context.out.write(fish_completion(commands, globals));
    return 0;
  };
  return command;
}

}  // namespace linnet
