// Faults that people met in template engines, each as a small template. The golden file below has
// the breadth; these have the names.
#include "text/jinja.h"

#include <doctest/doctest.h>

#include "base/file_map.h"
#include "text/jinja_check.h"

using namespace linnet;

TEST_CASE("every conformance snippet renders as the reference does") {
  int lines = 0;
  each_line(std::string(LINNET_SOURCE_DIR) + "/tests/golden/text/jinja/conformance.jsonl",
            [&](const Json& row) {
              ++lines;
              const std::string source = row.at("template").as_string();
              CAPTURE(source);
              const Json* expected = row.find("expected");
              const std::string context = row.at("context").dump();
              if (expected != nullptr) {
                CHECK(render(source, context) == expected->as_string());
              } else {
                const auto kind = error_kind(source, context);
                REQUIRE(kind.has_value());
                CHECK(jinja_error_kind_name(*kind) == row.at("error").as_string());
              }
            });
  CHECK(lines > 500);
}

TEST_CASE("generation tags are known and mark their text") {
  const JinjaOutput out = render_all(
      "{% for m in messages %}{% if m.role == \"assistant\" %}{% generation %}{{ m.content }}"
      "{% endgeneration %}{% endif %}{% endfor %}",
      R"({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ok"}]})");
  CHECK(out.text == "ok");
  CHECK(out.generation_spans == std::vector<Span>{{0, 2}});
  const JinjaOutput trimmed = render_all("x {%- generation -%} a {%- endgeneration -%} y");
  CHECK(trimmed.text == "xay");
  CHECK(trimmed.generation_spans == std::vector<Span>{{1, 2}});
}

TEST_CASE("string methods take sets of characters") {
  CHECK(render(R"({{ "  Be brief. /no_think ".replace("/no_think","").rstrip() }})") ==
        "  Be brief.");
  CHECK(render(R"({{ "\n\nhi".lstrip("\n") }})") == "hi");
  CHECK(render(R"({{ "abcba".strip("ab") }})") == "c");
}

TEST_CASE("the clock is the host's and speaks English") {
  CHECK(render(R"({{ strftime_now("%d %B %Y") }})") == "08 July 2025");
  CHECK(render(R"({{ strftime_now("%H:%M:%S") }})") == "09:05:03");
  // 8 July 2025 was a Tuesday, the 189th day, in ISO week 28.
  CHECK(render(R"({{ strftime_now("%A %a %j %V %G-%u %U %y %I %p %-d %%") }})") ==
        "Tuesday Tue 189 28 2025-2 27 25 09 AM 8 %");
  JinjaOptions options;
  options.now = CivilTime{2025, 13, 1};
  CHECK_THROWS_AS(JinjaTemplate::parse("x", "t").render(Json::object(), options), Error);
  options.now = CivilTime{2021, 1, 1, 23, 59, 59};  // belongs to the last week of 2020
  const JinjaTemplate week = JinjaTemplate::parse(R"({{ strftime_now("%G-%V %I %p") }})", "t");
  CHECK(week.render(Json::object(), options).text == "2020-53 11 PM");
}

TEST_CASE("values print as Python prints them") {
  const std::string tools =
      R"({"tools": [{"type": "function", "function": {"name": "f", "strict": true,
      "description": "it's", "parameters": null}}]})";
  CHECK(render("{% for tool in tools %}{{ tool | string }}{% endfor %}", tools) ==
        "{'type': 'function', 'function': {'name': 'f', 'strict': True, "
        "'description': \"it's\", 'parameters': None}}");
  CHECK(render("{{ [1.0, 0.1, 1e16, 1e15, 1e-5, 0.0001, -0.0, 5e-324, 1e22] }}") ==
        "[1.0, 0.1, 1e+16, 1000000000000000.0, 1e-05, 0.0001, -0.0, 5e-324, 1e+22]");
  CHECK(render("{{ x }}", R"({"x": ["a'\"", "\u0000\u200b\n", "é"]})") ==
        "['a\\'\"', '\\x00\\u200b\\n', 'é']");
}

TEST_CASE("slices work as in Python") {
  const std::string context =
      R"({"messages": [{"role": "user"}, {"role": "assistant"}], "xs": [1, 2, 3]})";
  CHECK(render("{% for m in messages[::-1] %}{{ m.role }},{% endfor %}", context) ==
        "assistant,user,");
  CHECK(render(R"({{ ("a</think>b").split("</think>")[-1] }})") == "b");
  CHECK(render("{{ xs[1:] }}{{ xs[-2::-1] }}{{ xs[5:] }}{{ xs[::2] }}", context) ==
        "[2, 3][2, 1][][1, 3]");
  CHECK(render("{{ 'héllo'[1:3] }}{{ 'héllo'[::-1] }}") == "élolléh");
}

TEST_CASE("tojson writes what transformers writes") {
  const std::string context = R"({"d": {"b": "a/b <é>", "a": [1, 2.0, true, null]}})";
  CHECK(render("{{ d | tojson }}", context) == R"({"b": "a/b <é>", "a": [1, 2.0, true, null]})");
  CHECK(render("{{ d | tojson(ensure_ascii=true) }}", context) ==
        R"({"b": "a/b <\u00e9>", "a": [1, 2.0, true, null]})");
  CHECK(render("{{ d.a | tojson(indent=2) }}", context) == "[\n  1,\n  2.0,\n  true,\n  null\n]");
}

TEST_CASE("what is undefined is falsy and an empty container, and no more") {
  CHECK(render(R"({% if "/x" in system_message %}Y{% else %}N{% endif %})") == "N");
  CHECK(render("{% if custom_instructions %}Y{% else %}N{% endif %}") == "N");
  CHECK(error_kind("{{ nothing.x }}") == JinjaErrorKind::undefined);
  CHECK(error_kind("{{ nothing + 'x' }}") == JinjaErrorKind::undefined);
}

TEST_CASE("a variable set in a loop stays there, a namespace does not") {
  CHECK(render(
            "{% for m in [1,2] %}{% set x = m %}{% endfor %}{{ \"D\" if x is defined else \"U\" }}"
            "{% set ns = namespace(v=0) %}{% for m in [1,2] %}{% set ns.v = ns.v + m %}{% endfor %}"
            "{{ ns.v }}") == "U3");
}

TEST_CASE("a loop's condition is looked at when its turn comes") {
  CHECK(render("{% set ns = namespace(n=0) %}{% for x in [1,2,3,4] if ns.n < 2 %}"
               "{% set ns.n = ns.n + 1 %}{{ x }}{% endfor %}") == "12");
}

TEST_CASE("a block that break leaves sets nothing and prints nothing") {
  CHECK(render("{% for x in [3, 1, 2] %}{% set q %}{{ x }}{% if x == 1 %}{% break %}{% endif %}"
               "{% endset %}{{ q }}{% endfor %}") == "3");
  CHECK(render(
            "{% for x in [1, 2] %}{% filter upper %}a{% continue %}b{% endfilter %}{% endfor %}") ==
        "");
}

TEST_CASE("errors tell their class, place and text") {
  try {
    render("line one\n  {{ raise_exception('Roles must alternate: ' ~ role) }}",
           R"({"role": "x"})");
    FAIL("no error");
  } catch (const JinjaError& error) {
    CHECK(error.kind() == JinjaErrorKind::raised);
    CHECK(error.code() == ErrorCode::invalid_argument);
    CHECK(error.detail() == "Roles must alternate: x");
    CHECK(error.place().name == "test");
    CHECK(error.place().line == 2);
    CHECK(error.place().column == 21);
    CHECK(std::string(error.what()) == "test:2:21: Roles must alternate: x");
  }
  CHECK(error_kind("{% if x %}") == JinjaErrorKind::syntax);
  CHECK(error_kind("{{ xs.append(1) }}", R"({"xs": []})") == JinjaErrorKind::security);
  CHECK(error_kind("{{ ''.__class__.__mro__ }}") == JinjaErrorKind::security);
  CHECK(error_kind("{{ 1 + 'a' }}") == JinjaErrorKind::runtime);
}

TEST_CASE("a template that is not UTF-8 is refused at its place") {
  for (const char* source : {"a\r\nb \xff", "a\nb \xe6\x97", "{# \n \xed\xa0\x80 #}",
                             "{{ 'x' }}\n  \xc0\x80", "{% set s =\n'\xff' %}"}) {
    CAPTURE(source);
    try {
      render(source);
      FAIL_CHECK("no error");
    } catch (const JinjaError& error) {
      CHECK(error.kind() == JinjaErrorKind::syntax);
      CHECK(error.place().line == 2);
    }
  }
}

TEST_CASE("an unknown filter fails the parse, unless a condition stands before it") {
  CHECK(error_kind("{{ x | nofilter }}") == JinjaErrorKind::syntax);
  CHECK(render("{% if false %}{{ x | nofilter }}{% endif %}ok") == "ok");
  CHECK(error_kind("{% if true %}{{ x | nofilter }}{% endif %}") == JinjaErrorKind::runtime);
}

TEST_CASE("a template can be rendered many times, with other contexts") {
  const JinjaTemplate greeting =
      JinjaTemplate::parse("{% set n = namespace(c=0) %}{{ name }}{{ n.c }}", "t");
  CHECK(greeting.render(Json::parse(R"({"name": "a"})", "c")).text == "a0");
  CHECK(greeting.render(Json::parse(R"({"name": "b"})", "c")).text == "b0");
  CHECK_THROWS_AS(greeting.render(Json::array()), Error);
}

TEST_CASE("whole numbers beyond 64 bits stay exact") {
  CHECK(render("{{ 10 ** 20 }} {{ 9223372036854775807 + 1 }} {{ -9223372036854775807 - 2 }}") ==
        "100000000000000000000 9223372036854775808 -9223372036854775809");
  CHECK(render("{{ 10 ** 20 // 3 }} {{ -(10 ** 20) % 7 }} {{ 2 ** 64 == 18446744073709551616 }}") ==
        "33333333333333333333 5 True");
}
