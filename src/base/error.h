// The one exception type of the library. Thrown when a request fails; caught at three doors only
// (HTTP handler, CLI main, C ABI). Expected outcomes are return values, bugs are LINNET_CHECK.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace linnet {

enum class ErrorCode {
  invalid_argument,
  not_found,
  corrupt_file,
  unsupported,
  out_of_memory,
  cancelled,
  overloaded,
  io,
};

std::string_view error_code_name(ErrorCode code);

// The message names the thing, what was expected, what was found, and what to do. It may repeat
// what a file or a user wrote, so it is repaired to valid UTF-8, and what is over 4 KiB is left out
// of its middle.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, std::string_view message);
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

[[noreturn]] void fail(ErrorCode code, const std::string& message);
// For the last system call: appends the text of errno.
[[noreturn]] void fail_io(const std::string& what);

// A bug was met. Not reachable from any input: throws std::logic_error so that tests can see it.
[[noreturn]] void check_failed(const char* condition, const char* file, int line,
                               const std::string& note);

#define LINNET_CHECK(condition, ...)                                                    \
  do {                                                                                  \
    if (!(condition))                                                                   \
      ::linnet::check_failed(#condition, __FILE__, __LINE__, std::string{__VA_ARGS__}); \
  } while (false)

}  // namespace linnet
