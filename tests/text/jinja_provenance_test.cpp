// Which bytes of the output came from the context.
#include <doctest/doctest.h>

#include <random>

#include "text/jinja_check.h"

using namespace linnet;

namespace {

// The output with the input parts in brackets.
std::string marked(const std::string& source, const std::string& context) {
  const JinjaOutput out = render_all(source, context);
  std::string text;
  std::size_t at = 0;
  for (const Span& span : out.input_spans) {
    text += out.text.substr(at, span.begin - at) + "[" +
            out.text.substr(span.begin, span.end - span.begin) + "]";
    at = span.end;
  }
  return text + out.text.substr(at);
}

const std::string kUser =
    R"({"u": "héllo", "p": " pad ", "l": ["a", "b"], "d": {"k": "v"}, "n": 5})";

}  // namespace

TEST_CASE("joining keeps origins apart") {
  CHECK(marked("<{{ u }}>", kUser) == "<[héllo]>");
  CHECK(marked("{{ '<' + u + '>' }}", kUser) == "<[héllo]>");
  CHECK(marked("{{ '<' ~ u ~ n ~ '>' }}", kUser) == "<[héllo]5>");
  CHECK(marked("{{ l | join('-') }}", kUser) == "[a]-[b]");
  CHECK(marked("{{ '-'.join(l) }}", kUser) == "[a]-[b]");
  CHECK(marked("{% for x in l %}({{ x }}){% endfor %}", kUser) == "([a])([b])");
  CHECK(marked("{% for k, v in d.items() %}{{ k }}={{ v }}{% endfor %}", kUser) == "[k]=[v]");
  CHECK(marked("{{ '%s/%s' % (u, 'x') }} {{ '{}|{}'.format(u, 'x') }}", kUser) ==
        "[héllo]/x [héllo]|x");
}

TEST_CASE("cutting keeps what is left") {
  CHECK(marked("{{ ('<' + u + '>')[1:4] }}", kUser) == "[hél]");
  CHECK(marked("{{ ('<' + u + '>')[::-1] }}", kUser) == ">[olléh]<");
  CHECK(marked("{{ ('<' + u + '>')[0:2] }}", kUser) == "<[h]");
  CHECK(marked("{{ p | trim }}|{{ p.strip() }}|{{ (p ~ '. ').rstrip() }}", kUser) ==
        "[pad]|[pad]|[ pad ].");
  CHECK(marked("{{ (u ~ ',' ~ 'x').split(',') | join(';') }}", kUser) == "[héllo];x");
  CHECK(marked("{{ ('a' ~ u)[0] }}{{ ('a' ~ u)[1] }}", kUser) == "a[h]");
  CHECK(marked("{{ u | first }}{{ 'xy' | last }}", kUser) == "[h]y");
  CHECK(marked("{{ 'x' * 2 }}{{ u * 2 }}", kUser) == "xx[héllohéllo]");
}

TEST_CASE("replacing keeps both origins") {
  CHECK(marked("{{ u.replace('l', 'L') }}", kUser) == "[hé]LL[o]");
  CHECK(marked("{{ 'a_b' | replace('_', u) }}", kUser) == "a[héllo]b");
  CHECK(marked("{{ ('<' ~ u) | upper }}", R"({"u": "abc"})") == "<[ABC]");
  CHECK(marked("{{ ('a\n' ~ u) | indent(2) }}", R"({"u": "b"})") == "a\n  [b]");
}

TEST_CASE("captured text keeps its origins") {
  CHECK(marked("{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(u) }}", kUser) == "<[héllo]>");
  CHECK(marked("{% set b %}<{{ u }}>{% endset %}{{ b }}", kUser) == "<[héllo]>");
  CHECK(marked("{% filter trim %} <{{ u }}> {% endfilter %}", kUser) == "<[héllo]>");
  CHECK(marked("{% set ns = namespace(t='') %}{% for x in l %}{% set ns.t = ns.t ~ x ~ ';' %}{% "
               "endfor %}"
               "{{ ns.t }}",
               kUser) == "[a];[b];");
}

TEST_CASE("printed containers are input when any text inside is") {
  CHECK(marked("{{ d }}", kUser) == "[{'k': 'v'}]");
  CHECK(marked("{{ d | tojson }}", kUser) == R"([{"k": "v"}])");
  CHECK(marked("{{ {'a': u} | tojson }}", kUser) == R"([{"a": "héllo"}])");
  CHECK(marked("{{ {'a': 1} }}{{ [1] | tojson }}", kUser) == "{'a': 1}[1]");
}

TEST_CASE("bytes that the host vouches for are not input") {
  const Json context = Json::parse(R"({"c": "xx<tag>yy"})", "context");
  JinjaOptions options;
  options.host_spans[&context.at("c").as_string()] = {{2, 7}};
  const JinjaOutput out = JinjaTemplate::parse("{{ c }}", "t").render(context, options);
  CHECK(out.text == "xx<tag>yy");
  CHECK(out.input_spans == std::vector<Span>{{0, 2}, {7, 9}});
}

// Private-use characters stand only in what the user wrote, so each one must lie in a span.
TEST_CASE("no byte of the user is ever outside of the spans") {
  std::mt19937_64 random(7);
  const std::string kOperations[] = {"x ~ 'lit'",
                                     "'lit' + x",
                                     "x | upper",
                                     "x | trim",
                                     "x.strip('<')",
                                     "x[1:]",
                                     "x[::-1]",
                                     "x[:-2]",
                                     "x | replace('a', 'bb')",
                                     "'a|a' | replace('|', x)",
                                     "x.split('a') | join('lit')",
                                     "x | title",
                                     "[x, 'y'] | string",
                                     "{'k': x} | tojson",
                                     "x | e",
                                     "x | indent",
                                     "x | center(30)",
                                     "'%s!' % x",
                                     "'{}?'.format(x)",
                                     "x.partition('a') | join",
                                     "x | list | join('.')",
                                     "x | capitalize",
                                     "x.lower().title()",
                                     "x | wordwrap(3)",
                                     "x | truncate(6, true, 'lit')",
                                     "x | urlencode | replace('%', '%')",
                                     "(x, x) | map('lower') | join",
                                     "x.rsplit('a', 1) | last",
                                     "x.swapcase()",
                                     "x | striptags",
                                     "x.zfill(20)"};
  for (int round = 0; round < 400; ++round) {
    std::string user;
    for (int i = 0; i < 12; ++i) {
      static constexpr const char* kPieces[] = {"\\ue000", "a",       "<", " ",
                                                "\\n",     "\\ue001", "É", "|"};
      user += kPieces[random() % 8];
    }
    std::string source = "{% set x = u %}";
    const int steps = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < steps; ++i) {
      source += "{% set x = " + kOperations[random() % std::size(kOperations)] + " %}";
    }
    source += "<|im_start|>{{ x }}<|im_end|>";
    CAPTURE(source);
    CAPTURE(user);
    const JinjaOutput out = render_all(source, R"({"u": ")" + user + "\"}");
    std::string rest;
    std::size_t at = 0;
    for (const Span& span : out.input_spans) {
      REQUIRE(at <= span.begin);
      REQUIRE(span.begin < span.end);
      REQUIRE(span.end <= out.text.size());
      rest += out.text.substr(at, span.begin - at);
      at = span.end;
    }
    rest += out.text.substr(at);
    CHECK(rest.find("\xEE\x80") == std::string::npos);
    CHECK(rest.starts_with("<|im_start|>"));
    CHECK(rest.ends_with("<|im_end|>"));
  }
}
