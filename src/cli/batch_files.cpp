#include "cli/batch_files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "base/error.h"
#include "base/json.h"

namespace linnet {
namespace {

constexpr std::size_t kMostLine = std::size_t{16} << 20;
constexpr std::size_t kMostRecord = std::size_t{1} << 30;
// Every record begins so.
constexpr std::string_view kRecordHead = "{\"line\":";

struct stat status_of(int fd, const std::string& name) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) fail_io("cannot look at " + name);
  return status;
}

[[noreturn]] void refuse(const std::string& name, const std::string& what) {
  fail(ErrorCode::invalid_argument,
       fmt::format("{}: {}: give another --output, or --overwrite", name, what));
}

// The bytes of a file behind its last newline.
std::uint64_t torn_bytes(int fd, std::uint64_t size, const std::string& name) {
  std::uint64_t at = size;
  std::string buffer;
  while (at > 0) {
    const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(at, 1 << 16));
    buffer.resize(count);
    const ssize_t got = ::pread(fd, buffer.data(), count, static_cast<off_t>(at - count));
    if (got != static_cast<ssize_t>(count)) fail_io("cannot read " + name);
    const std::size_t newline = buffer.rfind('\n');
    if (newline != std::string::npos) return size - (at - count + newline + 1);
    at -= count;
  }
  return size;
}

std::optional<std::uint64_t> checksum_in(const Json& record) {
  const Json* text = record.find("checksum");
  if (text == nullptr || !text->is_string()) return {};
  const std::string& digits = text->as_string();
  std::uint64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, value, 16);
  if (parsed.ec != std::errc() || parsed.ptr != end) return {};
  return value;
}

}  // namespace

BatchInput::BatchInput(const std::string& path) {
  if (path != "-") {
    name_ = path;
    fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ < 0) fail_io("cannot open " + name_);
  }
  const struct stat status = status_of(fd_, name_);
  if (S_ISREG(status.st_mode)) size_ = static_cast<std::uint64_t>(status.st_size);
  reader_ = make_plain_reader(fd_, kMostLine, name_);
}

BatchInput::~BatchInput() {
  if (fd_ != STDIN_FILENO) ::close(fd_);
}

bool BatchInput::next(std::string& line) {
  ++number_;
  return reader_->read("", line) == ReadOutcome::line;
}

BatchOutput::BatchOutput(const std::string& path, bool overwrite, const BatchInput& input,
                         Output& standard)
    : standard_(standard) {
  if (path == "-") return;
  name_ = path;
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  // What can only be written, a pipe with a name for instance.
  if (fd_ < 0) fd_ = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd_ < 0) fail_io("cannot open " + name_);
  try {
    is_regular_ = S_ISREG(status_of(fd_, name_).st_mode);
    if (!is_regular_) return;
    lock_against(input);
    if (overwrite && ::ftruncate(fd_, 0) != 0) fail_io("cannot empty " + name_);
    read_finished();
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

BatchOutput::~BatchOutput() {
  if (fd_ >= 0) ::close(fd_);
}

void BatchOutput::lock_against(const BatchInput& input) const {
  const struct stat own = status_of(fd_, name_);
  const struct stat other = status_of(input.fd(), input.name());
  if (own.st_dev == other.st_dev && own.st_ino == other.st_ino) {
    fail(ErrorCode::invalid_argument, name_ + ": is the input too: give another --output");
  }
  // File systems without locks do without.
  if (::flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    fail(ErrorCode::invalid_argument,
         name_ + ": another run is writing to it: wait for its end, or give another --output");
  }
}

void BatchOutput::read_finished() {
  const auto size = static_cast<std::uint64_t>(status_of(fd_, name_).st_size);
  const std::uint64_t torn = torn_bytes(fd_, size, name_);
  const auto reader = make_plain_reader(fd_, kMostRecord, name_);
  std::string text;
  std::uint64_t read = 0;
  for (std::int64_t number = 1; read < size - torn; ++number) {
    const ReadOutcome outcome = reader->read("", text);
    if (outcome == ReadOutcome::interrupted) fail(ErrorCode::cancelled, "interrupted");
    if (outcome == ReadOutcome::end) break;
    read += text.size() + 1;
    std::optional<std::uint64_t> checksum;
    std::int64_t line = 0;
    try {
      const Json record = Json::parse(text, "record");
      line = record.at("line").as_int_in(1, INT64_MAX, "line");
      checksum = checksum_in(record);
    } catch (const Error&) {
    }
    if (!checksum || !text.starts_with(kRecordHead)) {
      refuse(name_, fmt::format("line {} is no record of a batch", number));
    }
    finished_[line] = *checksum;
  }
  if (torn == 0) return;
  std::string tail(std::min<std::size_t>(torn, kRecordHead.size()), '\0');
  if (::pread(fd_, tail.data(), tail.size(), static_cast<off_t>(size - torn)) !=
      static_cast<ssize_t>(tail.size())) {
    fail_io("cannot read " + name_);
  }
  if (!kRecordHead.starts_with(tail)) refuse(name_, "its last line is no record of a batch");
  if (::ftruncate(fd_, static_cast<off_t>(size - torn)) != 0) fail_io("cannot shorten " + name_);
}

std::optional<std::uint64_t> BatchOutput::finished(std::int64_t line) const {
  const auto found = finished_.find(line);
  if (found == finished_.end()) return {};
  return found->second;
}

void BatchOutput::write(const std::string& record) {
  if (fd_ < 0) {
    standard_.foreign(record + "\n");
    return standard_.flush();
  }
  const std::string line = record + "\n";
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t put = ::write(fd_, line.data() + done, line.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail_io("cannot write to " + name_);
    done += static_cast<std::size_t>(put);
  }
}

void BatchOutput::finish() {
  if (is_regular_ && ::fsync(fd_) != 0) fail_io("cannot write to " + name_);
}

}  // namespace linnet
