#include "base/json.h"

#include <doctest/doctest.h>

#include <cstdlib>

#include "base/error.h"
#include "base/utf8.h"

using namespace linnet;

namespace {

std::string fault_of(const std::string& text) {
  try {
    Json::parse(text, "body");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("JSON keeps key order and tells integers from floating-point numbers") {
  const Json value = Json::parse(R"({"b": [1, 1.0, -0.0, 1e3], "a": {"x": null, "y": true}})", "v");
  CHECK(value.dump() == R"({"b":[1,1.0,-0.0,1000.0],"a":{"x":null,"y":true}})");
  CHECK(value.dump({.spaced = true}) ==
        R"({"b": [1, 1.0, -0.0, 1000.0], "a": {"x": null, "y": true}})");
  CHECK(value.at("b").as_array()[0].is_int());
  CHECK(value.at("b").as_array()[1].is_double());
}

TEST_CASE("what is written reads back") {
  Json value;
  value.set("text", "quote \" slash \\ line \n tab \t bell \x07 é \xF0\x9F\x98\x80");
  value.set("number", 0.1);
  value.set("large", std::int64_t{9007199254740993});
  for (const int indent : {-1, 0, 2}) {
    for (const bool ascii : {false, true}) {
      const std::string text = value.dump({.indent = indent, .ascii_only = ascii});
      CHECK_MESSAGE(Json::parse(text, "t") == value, text);
    }
  }
}

TEST_CASE("hostile JSON is refused with the place and the reason") {
  CHECK(fault_of(R"({"a": 1, "a": 2})").find("\"a\" stands twice") != std::string::npos);
  CHECK(fault_of(std::string(200, '[') + std::string(200, ']')).find("deeper than 128") !=
        std::string::npos);
  CHECK(fault_of(std::string(1000000, '[')).find("deeper than 128") != std::string::npos);
  for (const std::string text :
       {"", "{", "[1,]", "{\"a\" 1}", "nul", "1 2", "\"\xFF\"", "\"\\ud800\"", "1e999", "NaN",
        "'a'", "\"a\nb\"", "\xEF\xBB\xBF", "[1] //c", "{\"a\":1,}"}) {
    CHECK_MESSAGE(fault_of(text).starts_with("body: not valid JSON at byte"), text);
  }
}

TEST_CASE("what is wrong is told in valid UTF-8 and in few words") {
  const std::string megabyte(1 << 20, 'x');
  const std::vector<std::string> texts = {
      "\"\xFF\"",
      "\"" + megabyte + "\xFF\"",
      "{\"\xC3\"",
      "{\"" + megabyte + "\":]",
      "{\"" + megabyte + "\":1,\"" + megabyte + "\":1}",
      "1e" + std::string(1 << 20, '9'),
      "\xEF\xBB",
  };
  for (const std::string& text : texts) {
    const std::string fault = fault_of(text);
    CHECK(fault.starts_with("body: "));
    CHECK(fault.size() < 600);
    CHECK_FALSE(find_invalid_utf8(fault));
  }
  CHECK(fault_of(R"({"a\nb": 1, "a\nb": 2})").find('\n') == std::string::npos);
}

TEST_CASE("getters check type and range and name the field") {
  const Json value = Json::parse(R"({"n": 3000000000, "x": 2.5, "whole": 2.0, "s": "t"})", "v");
  CHECK(value.at("whole").as_int() == 2);
  CHECK_THROWS_WITH_AS(value.at("x").as_int("x"), "x: expected an integer, found 2.5", Error);
  CHECK_THROWS_WITH_AS(value.at("s").as_int("s"), "s: expected an integer, found a string", Error);
  CHECK_THROWS_WITH_AS(value.at("n").as_int_in(0, 100, "n"), "n: 3000000000 is outside of 0 to 100",
                       Error);
  CHECK_THROWS_WITH_AS(value.at("gone"), "field \"gone\" is missing", Error);
  CHECK(value.find("gone") == nullptr);
}

TEST_CASE("whole numbers beyond 64 bits are kept digit by digit") {
  CHECK(Json::parse("9223372036854775807", "v").as_int() == 9223372036854775807);
  for (const char* digits : {"9223372036854775808", "18446744073709551615", "18446744073709551616",
                             "-9223372036854775809", "123456789012345678901234567890"}) {
    const Json value = Json::parse(digits, "v");
    CHECK(value.is_large_int());
    CHECK(value.dump() == digits);
    CHECK(value.as_double() == std::strtod(digits, nullptr));
    CHECK_THROWS_AS(value.as_int("n"), Error);
  }
  CHECK(Json(18446744073709551615ul).dump() == "18446744073709551615");
  // Too large for a double too, so it is no number to nlohmann.
  CHECK(fault_of(std::string(5000, '9')) != "");
}

TEST_CASE("text that is not UTF-8 is written with replacement characters") {
  // Each maximal wrong part is one: C0 and 80 can begin nothing, E6 97 is one cut character.
  CHECK(json_quote("a\xC0\x80z\xE6\x97") == "\"a\xEF\xBF\xBD\xEF\xBF\xBDz\xEF\xBF\xBD\"");
  CHECK(json_quote("\xED\xA0\x80") == "\"" + repair_utf8("\xED\xA0\x80") + "\"");
  CHECK(json_quote("\xF0\x9F\x98\x80", true) == "\"\\ud83d\\ude00\"");
}
