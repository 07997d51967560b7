#include "cli/telemetry_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "base/log.h"
#include "base/memory_account.h"

namespace linnet {
namespace {

std::string line_of(const TelemetryEvent& event) {
  const std::chrono::duration<double> time = std::chrono::system_clock::now().time_since_epoch();
  Json record = Json::object();
  record.set("event", event.name).set("time", time.count());
  record.set("measurements", event.measurements).set("metadata", event.metadata);
  return record.dump() + "\n";
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::write(fd, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

}  // namespace

TelemetryFile::TelemetryFile(const std::string& path) : path_(path) {
  if (path.empty()) return;
  fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd_ < 0) fail_io("cannot open the telemetry file " + path);
  subscription_ =
      Telemetry::instance().subscribe([this](const TelemetryEvent& event) { write(event); });
}

TelemetryFile::~TelemetryFile() {
  try {
    if (fd_ >= 0) memory_stats();
  } catch (...) {
    // No memory for one more line.
  }
  subscription_ = {};
  if (fd_ >= 0) ::close(fd_);
}

void TelemetryFile::write(const TelemetryEvent& event) {
  const std::lock_guard lock(mutex_);
  if (is_broken_) return;
  try {
    if (write_all(fd_, line_of(event))) return;
    is_broken_ = true;
    log_warn("cannot write to the telemetry file " + path_ + " (" + std::strerror(errno) +
             "): the events from here on are lost");
  } catch (...) {
    is_broken_ = true;  // no memory: subscribers must not throw
  }
}

}  // namespace linnet
