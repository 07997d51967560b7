// What the fuzz targets share. A target is one file with LLVMFuzzerTestOneInput: bytes go to a
// door that takes hostile input, which may refuse them by Error and by nothing else, and what it
// accepts must hold the promises of its header. The same file is built twice: with libFuzzer
// (make fuzz), and with replay_main.cpp, which runs the saved inputs as a test on any compiler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace linnet::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// The first byte of an input chooses among variants; the rest is the input proper.
inline std::uint8_t take_byte(std::string_view& input) {
  if (input.empty()) return 0;
  const auto byte = static_cast<std::uint8_t>(input.front());
  input.remove_prefix(1);
  return byte;
}

// A promise that must hold. In release builds too, hence no assert.
inline void expect(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

// Whether `call` took its input. Any exception but Error is a finding.
template <typename Call>
bool accepts(Call&& call) {
  try {
    std::forward<Call>(call)();
    return true;
  } catch (const Error&) {
    return false;
  }
}

// The bytes in a block of exactly their size, so that the address sanitizer sees reads past them.
inline std::shared_ptr<const std::vector<std::byte>> exact_copy(std::string_view content) {
  const Bytes bytes = as_bytes(content);
  return std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
}

}  // namespace linnet::fuzz
