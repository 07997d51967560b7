#include "cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <cstring>

namespace linnet {
namespace {

// All a signal handler may touch: lock-free atomics.
std::atomic<bool> flag{false};
std::atomic<int> deferred{0};
std::atomic<int> last_signal{SIGINT};
std::atomic<const char*> farewell{nullptr};
static_assert(std::atomic<bool>::is_always_lock_free &&
              std::atomic<const char*>::is_always_lock_free);

void on_signal(int number) {
  last_signal.store(number);
  if (deferred.load() > 0 && !flag.exchange(true)) return;
  if (const char* text = farewell.load(); text != nullptr) {
    [[maybe_unused]] const ssize_t put = ::write(STDERR_FILENO, text, std::strlen(text));
  }
  ::_exit(128 + number);
}

}  // namespace

void install_signal_handlers() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = on_signal;
    ::sigemptyset(&action.sa_mask);
    // No SA_RESTART: a read that waits for a line must return.
    ::sigaction(number, &action, nullptr);
  }
  // A reader that goes away (| head -1) ends us quietly, even if our parent ignores the signal.
  ::signal(SIGPIPE, SIG_DFL);
}

DeferInterrupt::DeferInterrupt() { deferred.fetch_add(1); }

DeferInterrupt::~DeferInterrupt() { deferred.fetch_sub(1); }

const std::atomic<bool>& interrupt_flag() { return flag; }

void clear_interrupt() { flag.store(false); }

int interrupt_status() { return 128 + last_signal.load(); }

bool must_leave() { return flag.load() && last_signal.load() != SIGINT; }

void set_farewell(const char* text) { farewell.store(text); }

}  // namespace linnet
