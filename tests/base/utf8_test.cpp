#include "base/utf8.h"

#include <doctest/doctest.h>

#include <random>

using namespace linnet;
using namespace std::string_literals;

namespace {

std::string replaced(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '?' ? std::string(kReplacementText) : std::string(1, c);
  return out;
}

}  // namespace

TEST_CASE("every code point survives encoding and decoding") {
  for (char32_t point = 0; point < 0x110000; ++point) {
    if (point == 0xD800) point = 0xE000;
    std::string text;
    append_utf8(text, point);
    const Utf8Step step = decode_utf8(text);
    std::size_t at = 0;
    const bool same = step.kind == Utf8Step::Kind::valid && step.point == point &&
                      step.length == text.size() && next_valid_point(text, at) == point &&
                      at == text.size() && !find_invalid_utf8(text);
    if (!same) FAIL("code point " << static_cast<unsigned>(point));
  }
}

TEST_CASE("repair replaces each maximal wrong part by one U+FFFD") {
  struct Row {
    std::string bytes;
    std::string repaired;  // ? stands for U+FFFD
    std::size_t first_bad;
  };
  const Row rows[] = {
      {"\xFF", "?", 0},
      {"a\xFF"s + "b", "a?b", 1},
      {"\xC3(", "?(", 0},
      {"\xE2\x82", "?", 0},  // cut: one part
      {"\xE2\x82"s + "A", "?A", 0},
      {"\xF0\x9F\x98 x", "? x", 0},
      {"\xED\xA0\x80", "???", 0},  // a surrogate: no byte may follow ED like this
      {"\xC0\x80", "??", 0},       // overlong
      {"\xE0\x80\xAF", "???", 0},
      {"\xF4\x90\x80\x80", "????", 0},  // over U+10FFFF
      {"\xF0\x9F\xF0\x9F\x98\x80", "?\xF0\x9F\x98\x80", 0},
      {"\x80\x80", "??", 0},
      {"12345678\xC3", "12345678?", 8},
  };
  for (const Row& row : rows) {
    CAPTURE(row.repaired);
    CHECK(repair_utf8(row.bytes) == replaced(row.repaired));
    REQUIRE(find_invalid_utf8(row.bytes));
    CHECK(*find_invalid_utf8(row.bytes) == row.first_bad);
  }
  CHECK(repair_utf8("plain \xC3\xA9") == "plain \xC3\xA9");
  CHECK(repair_utf8("").empty());
}

TEST_CASE("a cut character is told apart from a wrong one") {
  CHECK(decode_utf8("\xE6\x97").kind == Utf8Step::Kind::incomplete);
  CHECK(decode_utf8("\xE6\x97").length == 2);
  CHECK(decode_utf8("\xE6\x97 ").kind == Utf8Step::Kind::wrong);
  CHECK(decode_utf8("\xE6\x97 ").length == 2);
  CHECK(decode_utf8("\xC1").kind == Utf8Step::Kind::wrong);
}

TEST_CASE("repaired bytes are valid whatever they were") {
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes(random() % 24, '\0');
    for (char& byte : bytes) {
      byte = static_cast<char>(random() % 3 == 0 ? random() : 0x80 + random() % 0x80);
    }
    const std::string repaired = repair_utf8(bytes);
    CHECK_FALSE(find_invalid_utf8(repaired));
    CHECK((repaired == bytes) == !find_invalid_utf8(bytes));
  }
}
