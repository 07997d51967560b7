#include "base/error.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>

namespace linnet {

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
