// A subcommand: its tables for the parser, and the function that does the work. Each make_*_command
// lives in the file of its name; the option values live as long as the command does.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/output.h"
#include "engine/lanes.h"

namespace linnet {

struct GlobalOptions {
  std::string model;  // empty: smollm2 if it is there, else tiny
  std::int64_t threads = 0;
  LaneChoice lane;
  std::int64_t max_context = 0;  // positions of a sequence; 0: all that the model has
  std::optional<float> yarn;
  bool no_mmap = false;
  std::string dtype = "auto";  // of the weights
  std::string log_level = "warn";
  std::string telemetry;  // the file of events; empty: none
  std::string color = "auto";
  bool trust_user_tokens = false;
};

struct CommandContext {
  const GlobalOptions& globals;
  Output& out;
  const Terminal& terminal() const { return out.terminal(); }
};

struct Command {
  std::string name = {};
  std::string summary = {};  // one line
  std::string details = {};  // paragraphs of the help, may be empty
  std::vector<std::string> examples = {};
  std::vector<Option> options = {};
  std::optional<Argument> argument = {};
  std::function<int(CommandContext&)> run = {};  // the exit status
};

Command make_chat_command();
Command make_run_command();
Command make_inspect_command();
Command make_tokenize_command();
Command make_detokenize_command();
Command make_template_command();
Command make_doctor_command();
Command make_completion_command();

// All of them, in the order of the help.
std::vector<Command> all_commands();
// The options that every command has.
std::vector<Option> global_option_table(GlobalOptions& globals);

}  // namespace linnet
