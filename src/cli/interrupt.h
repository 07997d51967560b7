// Ctrl-C (and SIGTERM, SIGHUP). At first a signal ends the program at once with 128 + its number.
// While a DeferInterrupt lives, the first one only raises a flag that the work in progress polls;
// a second one ends the program. Signals that were ignored when the program began stay ignored.
#pragma once

#include <atomic>

namespace linnet {

void install_signal_handlers();

class DeferInterrupt {
 public:
  DeferInterrupt();
  ~DeferInterrupt();
  DeferInterrupt(const DeferInterrupt&) = delete;
  DeferInterrupt& operator=(const DeferInterrupt&) = delete;
};

const std::atomic<bool>& interrupt_flag();
// Lowers the flag: the interruption was dealt with.
void clear_interrupt();
// 128 + the number of the last signal; 130 when there was none.
int interrupt_status();
// True for signals after which nothing more should be asked (SIGTERM, SIGHUP).
bool must_leave();

// Waits until `fd` can be read (or has ended). False when a signal came first: look at the flag.
bool wait_for_input(int fd);
// Makes a wait_for_input() return false. For signal handlers: the signal may have gone to a thread
// that does not wait.
void wake_input();

// Bytes sent to standard error before a signal ends the program (to reset colours, or to erase a
// progress bar): a string literal, or nullptr for none.
void set_farewell(const char* text);

}  // namespace linnet
