// cli/: main and one file per subcommand. Commands are tables (command.h) from which the parser,
// the help, the environment variables and the completion scripts come. Only this room prints.
#pragma once

namespace linnet {

// The whole program but for the last door: returns the exit status (0, or 1 when a check failed).
// Throws UsageError for a wrong command line or environment, Error for a failed request.
int run_command_line(int argc, char** argv);

// Prints the exception that is being handled, and returns the exit status it stands for: 2 for a
// usage mistake, 130 for an interruption, 1 otherwise. Call it in a catch block only.
int report_exception();

}  // namespace linnet
