#include "base/bytes.h"

#include <doctest/doctest.h>

#include <limits>

#include "base/error.h"

using namespace linnet;

TEST_CASE("reading past the end names file, offset and sizes") {
  ByteReader reader(as_bytes("abcdef"), "m.bin");
  CHECK(reader.read<std::uint16_t>("head") == 0x6261);
  try {
    reader.read<std::uint64_t>("length");
    FAIL("read past the end");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::corrupt_file);
    const std::string text = error.what();
    for (const char* part : {"m.bin", "length", "offset 2", "8 bytes", "ends at 6"}) {
      CHECK_MESSAGE(text.find(part) != std::string::npos, text);
    }
  }
  CHECK(reader.offset() == 2);  // a failed read moves nothing
  CHECK(as_text(reader.take(4, "rest")) == "cdef");
  CHECK(reader.remaining() == 0);
}

TEST_CASE("sizes that would wrap are refused") {
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  CHECK_THROWS_AS(checked_mul(kMost, 2, "shape"), Error);
  CHECK_THROWS_AS(checked_add(kMost, 1, "offset"), Error);
  CHECK(checked_mul(kMost, 1, "shape") == kMost);
  ByteReader reader(as_bytes("abcd"), "m");
  CHECK_THROWS_AS(reader.range(2, kMost, "part"), Error);
  CHECK_THROWS_AS(reader.range(kMost, 2, "part"), Error);
  CHECK_THROWS_AS(reader.seek(5), Error);
  CHECK_NOTHROW(reader.seek(4));
}

TEST_CASE("a count of items must fit into what remains") {
  ByteReader reader(as_bytes("0123456789"), "m");
  CHECK(reader.check_count(5, 2, "items") == 5);
  CHECK_THROWS_AS(reader.check_count(6, 2, "items"), Error);
  CHECK_THROWS_AS(reader.check_count(std::uint64_t{1} << 63, 4, "items"), Error);
}
