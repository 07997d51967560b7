#include "base/error.h"

#include <doctest/doctest.h>

#include <string>

#include "base/utf8.h"

using namespace linnet;

TEST_CASE("a message is valid UTF-8, whatever it repeats") {
  CHECK(std::string(Error(ErrorCode::io, "\xFF is \xC3").what()) == "\xEF\xBF\xBD is \xEF\xBF\xBD");
  CHECK(std::string(Error(ErrorCode::io, "a \xF0\x9F\x98 b").what()) == "a \xEF\xBF\xBD b");
  CHECK(std::string(Error(ErrorCode::io, "naïve 日本").what()) == "naïve 日本");
}

TEST_CASE("a message is short, and both of its ends are there") {
  for (const std::string unit : {"x", "é", "日", "🙂", "\xBF"}) {
    for (std::size_t shift = 0; shift < 4; ++shift) {
      std::string text(shift, '-');
      while (text.size() < 100000) text += unit;
      const std::string message = Error(ErrorCode::io, "begin " + text + " end").what();
      CHECK(message.starts_with("begin "));
      CHECK(message.ends_with(" end"));
      CHECK(message.size() <= 3 * 4096);  // a wrong byte becomes three
      CHECK_FALSE(find_invalid_utf8(message));
      if (unit != "\xBF") CHECK(message.find(kReplacementText) == std::string::npos);
    }
  }
  const std::string whole(4096, 'x');
  CHECK(Error(ErrorCode::io, whole).what() == whole);
}
