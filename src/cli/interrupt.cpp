#include "cli/interrupt.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace linnet {
namespace {

// All a signal handler may touch: lock-free atomics.
std::atomic<bool> flag{false};
std::atomic<int> deferred{0};
std::atomic<int> last_signal{SIGINT};
std::atomic<const char*> farewell{nullptr};
// A byte in this pipe wakes wait_for_input(), whichever thread the signal went to, and even when it
// came just before the wait.
int wake_pipe[2] = {-1, -1};
static_assert(std::atomic<bool>::is_always_lock_free &&
              std::atomic<const char*>::is_always_lock_free);

void drain_wake_pipe() {
  std::array<char, 64> bytes;
  while (::read(wake_pipe[0], bytes.data(), bytes.size()) > 0) continue;
}

void on_signal(int number) {
  last_signal.store(number);
  if (deferred.load() > 0 && !flag.exchange(true)) return wake_input();
  if (const char* text = farewell.load(); text != nullptr) {
    [[maybe_unused]] const ssize_t put = ::write(STDERR_FILENO, text, std::strlen(text));
  }
  ::_exit(128 + number);
}

}  // namespace

void install_signal_handlers() {
  if (wake_pipe[0] < 0 && ::pipe2(wake_pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
    fail_io("cannot make a pipe");
  }
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

void clear_interrupt() {
  drain_wake_pipe();
  flag.store(false);
}

void wake_input() {
  const int saved = errno;
  [[maybe_unused]] const ssize_t put = ::write(wake_pipe[1], "", 1);
  errno = saved;
}

bool wait_for_input(int fd) {
  if (flag.load()) return false;
  std::array<pollfd, 2> waiting = {pollfd{fd, POLLIN, 0}, pollfd{wake_pipe[0], POLLIN, 0}};
  if (::poll(waiting.data(), waiting.size(), -1) < 0) return false;
  if (waiting[1].revents == 0) return true;
  // An interrupt still has its flag; any other wake-up counts once.
  drain_wake_pipe();
  return false;
}

int interrupt_status() { return 128 + last_signal.load(); }

bool must_leave() { return flag.load() && last_signal.load() != SIGINT; }

void set_farewell(const char* text) { farewell.store(text); }

}  // namespace linnet
