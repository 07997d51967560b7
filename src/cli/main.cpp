#include "cli/cli.h"

int main(int argc, char** argv) {
  try {
    return linnet::run_command_line(argc, argv);
  } catch (...) {
    return linnet::report_exception();
  }
}
