#include "base/error.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>

#include "base/utf8.h"

namespace linnet {
namespace {

constexpr std::size_t kMaxMessage = 4096;
constexpr std::string_view kLeftOut = " [...] ";

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// Cut before it is repaired, within no character: a message may hold a file.
std::string message_text(std::string_view message) {
  if (message.size() <= kMaxMessage) return repair_utf8(message);
  std::size_t head = kMaxMessage / 2;
  std::size_t tail = message.size() - (kMaxMessage / 2 - kLeftOut.size());
  for (int i = 0; i < 3 && is_continuation(message[head]); ++i) --head;
  for (int i = 0; i < 3 && is_continuation(message[tail]); ++i) ++tail;
  return repair_utf8(message.substr(0, head)) + std::string(kLeftOut) +
         repair_utf8(message.substr(tail));
}

}  // namespace

Error::Error(ErrorCode code, std::string_view message)
    : std::runtime_error(message_text(message)), code_(code) {}

std::string_view error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::corrupt_file:
      return "corrupt_file";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::out_of_memory:
      return "out_of_memory";
    case ErrorCode::cancelled:
      return "cancelled";
    case ErrorCode::overloaded:
      return "overloaded";
    case ErrorCode::io:
      return "io";
  }
  return "unknown";
}

void fail(ErrorCode code, const std::string& message) { throw Error(code, message); }

void fail_io(const std::string& what) {
  const int code = errno;
  const ErrorCode kind = code == ENOENT || code == ENOTDIR ? ErrorCode::not_found : ErrorCode::io;
  throw Error(kind, fmt::format("{}: {}", what, std::strerror(code)));
}

void check_failed(const char* condition, const char* file, int line, const std::string& note) {
  throw std::logic_error(fmt::format("bug in Linnet: {} failed at {}:{}{}{}", condition, file, line,
                                     note.empty() ? "" : ": ", note));
}

}  // namespace linnet
