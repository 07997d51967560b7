#include "base/mapped_files.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>

namespace linnet {

// A signal handler may read it at any moment: the name is written first and taken away last, and
// the path is copied, so that nothing in it moves.
struct MappedSlot {
  std::atomic<bool> taken{false};
  std::atomic<std::uintptr_t> start{0};
  std::atomic<std::uintptr_t> end{0};  // 0: not in use
  std::string path;
};

namespace {

std::array<MappedSlot, kMostMappedFiles> slots;
const char* program_name = "";
static_assert(std::atomic<std::uintptr_t>::is_always_lock_free);

void say(const char* text) {
  [[maybe_unused]] const ssize_t put = ::write(STDERR_FILENO, text, std::strlen(text));
}

void on_bus_error(int number, siginfo_t* info, void*) {
  const char* path = info->si_code > 0 ? mapped_file_at(info->si_addr) : nullptr;
  if (path == nullptr) {
    // Not ours: the same fault, or the sender's signal, then ends the process as it always did.
    ::signal(number, SIG_DFL);
    if (info->si_code <= 0) ::raise(number);
    return;
  }
  // All threads that compute may meet the hole at once: one speaks, the others wait for the end.
  static std::atomic<bool> spoken{false};
  if (spoken.exchange(true)) {
    for (;;) ::pause();
  }
  say(program_name);
  say(": ");
  say(path);
  say(": the file became shorter, or cannot be read any more, while it was in use; leave it alone "
      "while the program runs, or read it into memory with --no-mmap\n");
  ::_exit(1);
}

}  // namespace

MappedRange::MappedRange(const std::byte* start, std::size_t size,
                         const std::filesystem::path& path) {
  for (MappedSlot& slot : slots) {
    if (slot.taken.load(std::memory_order_relaxed) || slot.taken.exchange(true)) continue;
    slot_ = &slot;
    break;
  }
  if (slot_ == nullptr) return;
  try {
    slot_->path = path.string();
  } catch (...) {
    slot_->taken.store(false);
    throw;
  }
  const auto first = reinterpret_cast<std::uintptr_t>(start);
  slot_->start.store(first);
  slot_->end.store(first + size);
}

MappedRange::~MappedRange() {
  if (slot_ == nullptr) return;
  slot_->end.store(0);
  slot_->taken.store(false);
}

const char* mapped_file_at(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (const MappedSlot& slot : slots) {
    const std::uintptr_t end = slot.end.load();
    if (end != 0 && at >= slot.start.load() && at < end) return slot.path.c_str();
  }
  return nullptr;
}

void install_mapped_file_handler(const char* program) {
  program_name = program;
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace linnet
