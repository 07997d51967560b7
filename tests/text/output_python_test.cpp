#include <doctest/doctest.h>

#include "text/python_calls.h"
#include "time_limit.h"

using namespace linnet;

namespace {

// The arguments of f(`arguments`); "no" when it is no call.
std::string arguments(const std::string& source) {
  const auto calls = read_python_calls("f(" + source + ")");
  if (!calls || calls->size() != 1 || calls->front().name != "f") return "no";
  return calls->front().arguments;
}

std::string value(const std::string& source) {
  const std::string text = arguments("a=" + source);
  return text == "no" ? text : text.substr(6, text.size() - 7);
}

// The names of the calls, each with a comma.
std::string names(const std::string& body) {
  const auto calls = read_python_calls(body);
  if (!calls) return "no";
  std::string joined;
  for (const ToolCall& call : *calls) joined += call.name + ",";
  return joined;
}

}  // namespace

TEST_CASE("numbers are written as Python writes them") {
  CHECK(value("1_000") == "1000");
  CHECK(value("0xFF") == "255");
  CHECK(value("0o17") == "15");
  CHECK(value("0b_101") == "5");
  CHECK(value("00") == "0");
  CHECK(value("- 2") == "-2");
  CHECK(value("-(2)") == "-2");
  CHECK(value("-0") == "0");
  CHECK(value("-0.0") == "-0.0");
  CHECK(value("1e5") == "100000.0");
  CHECK(value("1e16") == "1e+16");
  CHECK(value("1.5E-05") == "1.5e-05");
  CHECK(value("01.5") == "1.5");
  CHECK(value("5.") == "5.0");
  CHECK(value(".5_0") == "0.5");
  CHECK(value("1e-999") == "0.0");
  CHECK(value("0." + std::string(400, '0') + "1") == "0.0");
  CHECK(value("123456789012345678901234567890") == "123456789012345678901234567890");
  CHECK(value("-9223372036854775808") == "-9223372036854775808");
  // 16^16 and 16^24
  CHECK(value("0x10000000000000000") == "18446744073709551616");
  CHECK(value("0x1000000000000000000000000") == "79228162514264337593543950336");
  for (const char* wrong : {"1e999", "-1e999", "1j", "01", "1__0", "1_", "0x", "0b2", "+1", "--1",
                            "-True", "1.2.3", "1 2", "1a", ".", "1e", "nan", "1+1"}) {
    CAPTURE(wrong);
    CHECK(value(wrong) == "no");
  }
}

TEST_CASE("strings of all kinds") {
  CHECK(value("'a' \"b\"\n  r'\\c'") == R"("ab\\c")");
  CHECK(value("'''a\n'b'\"'''") == R"("a\n'b'\"")");
  CHECK(value("'''a\r\nb\rc'''") == R"("a\nb\nc")");
  CHECK(value("'a\\\nb'") == R"("ab")");
  CHECK(value(R"('\x41\101\u00e9\U0001F642\q\a')") == R"("AAé🙂\\q\u0007")");
  CHECK(value(R"('\ud83d\ude42')") == R"("🙂")");
  CHECK(value(R"('\ud83d')") == "\"\xEF\xBF\xBD\"");
  CHECK(value(R"(r'\'')") == R"("\\'")");
  CHECK(value("u''") == R"("")");
  for (const char* wrong : {"'a", "'a\nb'", "b'a'", "f'a'", "'a' b'c'", R"('\x4')", R"('\u12')",
                            R"('\U00110000')", R"('\N{DASH}')", R"('\')", "ur'a'", "'''a'"}) {
    CAPTURE(wrong);
    CHECK(value(wrong) == "no");
  }
}

TEST_CASE("lists, tuples and dicts") {
  CHECK(value("[1, (2,), (), (3), [],]") == "[1, [2], [], 3, []]");
  CHECK(value("{'a': 1, 'b': {}, 'a': 2,}") == R"({"a": 2, "b": {}})");
  CHECK(value("{'a' 'b': [True, False, None]}") == R"({"ab": [true, false, null]})");
  CHECK(value("[ # why\n 1,\n\n 2]") == "[1, 2]");
  for (const char* wrong : {"[1", "[,]", "[1,,]", "(,)", "{1}", "{1: 2}", "{None: 1}", "{'a'}",
                            "{**{}}", "[*a]", "[1 2]", "x", "[x for x in y]", "{'a': 1, 2}"}) {
    CAPTURE(wrong);
    CHECK(value(wrong) == "no");
  }
}

TEST_CASE("arguments are keywords only") {
  CHECK(arguments("") == "{}");
  CHECK(arguments(" a = 1 ,\n b=2,\n") == R"({"a": 1, "b": 2})");
  CHECK(arguments("größe=1") == R"({"größe": 1})");
  for (const char* wrong : {"1", "a=1, a=2", "a", "**a", "*a", "a==1", "a:=1", "if=1", ",", "a=1,,",
                            "a=1 b=2", "None=1", "a=", "1a=1"}) {
    CAPTURE(wrong);
    CHECK(arguments(wrong) == "no");
  }
}

TEST_CASE("calls stand on lines of their own or between semicolons") {
  CHECK(names("f()\ng()\r\nh()") == "f,g,h,");
  CHECK(names("# note\n\n  \nf(); g();  # why\n   # more\nh()") == "f,g,h,");
  CHECK(names("f \\\n ()") == "f,");
  CHECK(names("  f()") == "f,");
  for (const char* wrong :
       {"",      "# f()", "f() g()",   "f()\n  g()", ";f()", "f();;g()", "f()()",
        "f().x", "f\n()", "x.f()",     "f(",         "f)",   "if()",     "x=f()",
        "f(),",  "pass",  "await f()", "f()\npass",  "(f)",  "print f()"}) {
    CAPTURE(wrong);
    CHECK(names(wrong) == "no");
  }
  CHECK(names(std::string("f()\0", 4)) == "no");
}

TEST_CASE("brackets nest as deep as in Python and no deeper") {
  const auto nested = [](std::size_t depth) {
    return value(std::string(depth, '[') + std::string(depth, ']'));
  };
  CHECK(nested(199) == std::string(199, '[') + std::string(199, ']'));
  CHECK(nested(200) == "no");
  CHECK(nested(1 << 20) == "no");
}

TEST_CASE("a megabyte of Python takes linear time") {
  constexpr std::size_t kUnits = 100000;
  for (const char* unit : {"'k':1,", "'\\u0041'", "- ", "0x1234567890abcdef12,", "{}", "''\n"}) {
    std::string body = "f(a={";
    for (std::size_t i = 0; i < kUnits; ++i) body += unit;
    body += "})";
    const linnet::testing::ProcessorWatch watch;
    read_python_calls(body);
    CAPTURE(unit);
    CHECK(watch.seconds() < linnet::testing::time_limit(2.0));
  }
  std::string keys;
  for (std::size_t i = 0; i < kUnits; ++i) keys += "k" + std::to_string(i) + "=1,";
  const linnet::testing::ProcessorWatch watch;
  CHECK(arguments(keys) != "no");
  CHECK(watch.seconds() < linnet::testing::time_limit(2.0));
}
