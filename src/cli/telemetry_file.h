// --telemetry FILE: the events of the run, appended to a file as JSON lines.
#pragma once

#include <string>

#include "base/telemetry.h"

namespace linnet {

// {"event", "time" (seconds since 1970), "measurements", "metadata"}. Every event is one write, so
// nothing is lost when the program ends, however it does, and several programs may share a file.
class TelemetryFile {
 public:
  // An empty path: nothing is written. Error{io}, Error{not_found} when it cannot be opened.
  explicit TelemetryFile(const std::string& path);
  // The last line is a memory.stats.
  ~TelemetryFile();
  TelemetryFile(const TelemetryFile&) = delete;
  TelemetryFile& operator=(const TelemetryFile&) = delete;

 private:
  void write(const TelemetryEvent& event);

  std::string path_;
  int fd_ = -1;
  std::mutex mutex_;
  bool is_broken_ = false;  // a write failed: there was a warning, and no more is written
  Telemetry::Subscription subscription_;
};

}  // namespace linnet
