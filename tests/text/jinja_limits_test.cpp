// Hostile templates and contexts: each ends in an error, soon, without much memory or stack.
#include <doctest/doctest.h>

#include "base/utf8.h"
#include "text/jinja_check.h"
#include "time_limit.h"

using namespace linnet;

namespace {

std::string repeat(const std::string& unit, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += unit;
  return out;
}

struct Outcome {
  std::optional<JinjaErrorKind> kind;
  double seconds = 0;
};

Outcome run(const std::string& source, const std::string& context = "{}") {
  const linnet::testing::ProcessorWatch watch;
  Outcome outcome;
  outcome.kind = error_kind(source, context);
  outcome.seconds = watch.seconds();
  return outcome;
}

// Sanitizers and busy machines are slow; a render without a budget would take minutes or hours.
constexpr double kSoon = linnet::testing::time_limit(3.0);

}  // namespace

TEST_CASE("values cannot outgrow their budget") {
  const char* const kTemplates[] = {
      "{{ 'x' * 10000000000 }}",
      "{{ [0] * 1000000000 }}",
      "{{ 'abc' * (2 ** 62) }}",
      "{% set ns = namespace(s='x') %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}{% "
      "endfor %}",
      "{% set ns = namespace(s=[1]) %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}{% "
      "endfor %}",
      "{% set ns = namespace(s='xx') %}{% for i in range(60) %}{% set ns.s = ns.s | replace('x', "
      "'xx') "
      "%}{% endfor %}",
      "{% set ns = namespace(s='xx') %}{% for i in range(60) %}{% set ns.s = ns.s.replace('', "
      "ns.s) %}"
      "{% endfor %}",
      "{{ 'a' | center(9000000000) }}",
      "{{ 'a'.ljust(9000000000) }}",
      "{{ 'a'.zfill(9000000000) }}",
      "{{ '%9000000000d' | format(3) }}",
      "{{ '{:>9000000000}'.format(3) }}",
      "{{ 'a' | indent(900000000, true) }}",
      "{{ 'a\\tb'.expandtabs(900000000) }}",
      "{{ [1] | batch(900000000, 'x') | list }}",
      "{{ [1] | slice(900000000) | list }}",
      "{% set ns = namespace(s=[1]) %}{% for i in range(60) %}{% set ns.s = [ns.s, ns.s] %}{% "
      "endfor %}"
      "{{ ns.s }}",
      "{% set ns = namespace(s=[1]) %}{% for i in range(60) %}{% set ns.s = [ns.s, ns.s] %}{% "
      "endfor %}"
      "{{ ns.s | tojson }}",
      "{% for i in range(100000) %}{% for j in range(1000) %}xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
      "{% endfor %}{% endfor %}",
      "{% macro m() %}{% for i in range(99999) %}{{ 'x' * 1000 }}{% endfor %}{% endmacro %}{{ m() "
      "}}",
  };
  for (const char* source : kTemplates) {
    CAPTURE(source);
    const Outcome outcome = run(source);
    CHECK(outcome.kind == JinjaErrorKind::limit);
    CHECK(outcome.seconds < kSoon);
  }
}

TEST_CASE("work cannot go on for ever") {
  const char* const kTemplates[] = {
      "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}{% endfor "
      "%}"
      "{% endfor %}{% endfor %}",
      "{% set s = 'x' * 1000000 %}{% for a in range(99999) %}{{ 'y' in s }}{% endfor %}",
      "{% set s = 'x' * 1000000 %}{% for a in range(99999) %}{% set t = s | upper %}{% endfor %}",
      "{% set s = 'x' * 1000000 %}{% for a in range(99999) %}{% set t = s[500000] %}{% endfor %}",
      "{% set s = 'x' * 1000000 %}{% for a in range(99999) %}{% set t = s | length %}{% endfor %}",
      "{% set l = range(99999) | list %}{% for a in range(99999) %}{{ -1 in l }}{% endfor %}",
      "{{ range(99999) | map('string') | unique | list }}",
      "{% for a in range(99999) %}{{ range(99999) | sum }}{% endfor %}",
      "{% for a in range(99999) %}{% set x = range(99999) | list %}{% endfor %}",
  };
  for (const char* source : kTemplates) {
    CAPTURE(source);
    const Outcome outcome = run(source);
    CHECK(outcome.kind == JinjaErrorKind::limit);
    CHECK(outcome.seconds < kSoon);
  }
}

TEST_CASE("the cheap attacks end at once") {
  // Each is one word long in a template; none may cost even a tenth of a second.
  constexpr double kAtOnce = linnet::testing::time_limit(0.1);
  const char* const kTemplates[] = {
      "{{ range(10 ** 9) | list }}",
      "{% for i in range(10 ** 9) %}{% endfor %}",
      "{{ range(10 ** 9) | sum }}",
      "{{ 9 ** (9 ** 9) }}",
      "{{ 10 ** 1000000 }}",
      "{{ (2 ** 4096) ** (2 ** 4096) }}",
      "{{ 2 ** (2 ** (2 ** (2 ** 5))) }}",
      "{{ 'x' * 2 ** 30 }}",
      "{{ 'x' * 2 ** 5000 }}",
      "{{ [[0] * 1000] * 1000000 }}",
      "{{ '%*d' | format(2 ** 31, 1) }}",
      "{{ '%.999999999f' | format(1.5) }}",
      "{{ '{:999999999}'.format(1) }}",
      "{{ '{:.999999999f}'.format(1.5) }}",
      "{{ 'a' | wordwrap(1, true, 'x' * 1000000000) }}",
      "{{ lipsum(1000000) }}",
  };
  for (const char* source : kTemplates) {
    CAPTURE(source);
    const Outcome outcome = run(source);
    CHECK(outcome.kind.has_value());
    CHECK(outcome.seconds < kAtOnce);
  }
}

TEST_CASE("small values that hold 2^60 others cannot be walked for ever") {
  const std::string grow =
      "{% set ns = namespace(a=[1], b=[1], t=(1,), u=(1,), d={'k': 1}, e={'k': 1}) %}"
      "{% for i in range(60) %}"
      "{% set ns.a = [ns.a, ns.a] %}{% set ns.b = [ns.b, ns.b] %}"
      "{% set ns.t = (ns.t, ns.t) %}{% set ns.u = (ns.u, ns.u) %}"
      "{% set ns.d = {'k': ns.d, 'l': ns.d} %}{% set ns.e = {'k': ns.e, 'l': ns.e} %}"
      "{% endfor %}";
  for (const char* use :
       {"{{ ns.a == ns.b }}", "{{ ns.a != ns.b }}", "{{ ns.d == ns.e }}", "{{ ns.a in [ns.b] }}",
        "{{ ns.a < ns.b }}", "{{ [ns.a, ns.b] | sort | length }}",
        "{{ [ns.t, ns.u] | unique | list | length }}", "{{ [ns.a, ns.b] | max }}",
        "{{ [ns.a].count(ns.b) }}", "{{ [ns.a].index(ns.b) }}", "{{ ns.a is eq ns.b }}",
        "{{ {ns.t: 1} }}", "{{ ns.t in {'a': 1} }}",
        "{{ [{'k': ns.a}, {'k': ns.b}] | groupby('k') | list | length }}",
        "{% for i in [1] %}{{ loop.changed(ns.a) }}{{ loop.changed(ns.b) }}{% endfor %}"}) {
    CAPTURE(use);
    const Outcome outcome = run(grow + use);
    CHECK(outcome.kind == JinjaErrorKind::limit);
    CHECK(outcome.seconds < kSoon);
  }
  CHECK(run(grow + "{{ ns.a == ns.a }}").kind == std::nullopt);
}

TEST_CASE("comparing long texts costs steps") {
  const Outcome outcome =
      run("{% set a = 'x' * 1000000 %}{% set b = 'x' * 1000000 %}"
          "{% for i in range(99999) %}{{ a == b }}{% endfor %}");
  CHECK(outcome.kind == JinjaErrorKind::limit);
  CHECK(outcome.seconds < kSoon);
}

TEST_CASE("a message that a template raises has an end") {
  try {
    render("{{ raise_exception('\u00e9' * 1000001) }}");
    FAIL("no error");
  } catch (const JinjaError& error) {
    CHECK(error.kind() == JinjaErrorKind::raised);
    CHECK(error.detail().size() < 5000);
    CHECK(!find_invalid_utf8(error.detail()));
  }
}

TEST_CASE("recursion and nesting end in an error, not on the stack") {
  CHECK(error_kind("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}") == JinjaErrorKind::limit);
  CHECK(error_kind("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}") ==
        JinjaErrorKind::limit);
  CHECK(error_kind("{% set ns = namespace() %}{% macro m() %}{{ ns.f() }}{% endmacro %}"
                   "{% set ns.f = m %}{{ m() }}") == JinjaErrorKind::limit);
  const int many = 100000;
  CHECK(error_kind("{{ " + repeat("(", many) + "1" + repeat(")", many) + " }}") ==
        JinjaErrorKind::syntax);
  CHECK(error_kind("{{ " + repeat("[", many) + repeat("]", many) + " }}") ==
        JinjaErrorKind::syntax);
  CHECK(error_kind("{{ " + repeat("{1:", many) + "1" + repeat("}", many) + " }}") ==
        JinjaErrorKind::syntax);
  CHECK(error_kind("{{ " + repeat("-", many) + "1 }}") == JinjaErrorKind::syntax);
  CHECK(error_kind("{{ " + repeat("not ", many) + "1 }}") == JinjaErrorKind::syntax);
  CHECK(error_kind("{{ 1" + repeat(" if 1 else 1", many) + " }}") == JinjaErrorKind::syntax);
  CHECK(error_kind("{{ 1" + repeat(" + 1", many) + " }}") == JinjaErrorKind::syntax);
  CHECK(error_kind("{{ 1" + repeat(" ** 1", many) + " }}") == JinjaErrorKind::syntax);
  CHECK(error_kind("{{ x" + repeat(".a", many) + " }}") == JinjaErrorKind::syntax);
  CHECK(error_kind("{{ x" + repeat("[0]", many) + " }}") == JinjaErrorKind::syntax);
  CHECK(error_kind("{{ x" + repeat("()", many) + " }}") == JinjaErrorKind::syntax);
  CHECK(error_kind("{{ x" + repeat("|e", many) + " }}") == JinjaErrorKind::syntax);
  CHECK(error_kind("{{ x is " + repeat("e is ", many) + "e }}") == JinjaErrorKind::syntax);
  CHECK(error_kind("{% for " + repeat("(", many) + "x in y %}") == JinjaErrorKind::syntax);
  CHECK(error_kind(repeat("{% if 1 %}", many)) == JinjaErrorKind::syntax);
  CHECK(error_kind(repeat("{% for x in y %}", many)) == JinjaErrorKind::syntax);
  CHECK(error_kind(repeat("{% macro m() %}", many)) == JinjaErrorKind::syntax);
  // Flat ones are fine.
  CHECK(render("{{ 1" + repeat(" ~ 1", 5000) + " }}").size() == 5001);
  CHECK(render("{% if 0 %}" + repeat("{% elif 0 %}", 5000) + "{% else %}x{% endif %}") == "x");
}

TEST_CASE("nested values and chains of objects stay shallow") {
  const auto grow = [](const std::string& step) {
    return error_kind("{% set ns = namespace(v=[]) %}{% for i in range(99999) %}" + step +
                      "{% endfor %}");
  };
  CHECK(grow("{% set ns.v = [ns.v] %}") == JinjaErrorKind::limit);
  CHECK(grow("{% set ns.v = (ns.v,) %}") == JinjaErrorKind::limit);
  CHECK(grow("{% set ns.v = {'a': ns.v} %}") == JinjaErrorKind::limit);
  CHECK(grow("{% set ns.v = cycler(ns.v) %}") == JinjaErrorKind::limit);
  CHECK(grow("{% set ns.v = joiner(ns.v) %}") == JinjaErrorKind::limit);
  CHECK(grow("{% for x in [ns.v] %}{% set ns.v = loop %}{% endfor %}") == JinjaErrorKind::limit);
  CHECK(grow("{% set x = namespace(next=ns.v) %}{% set ns.v = x %}").has_value());
  // Macros that are defined inside of each other's scopes.
  CHECK(
      error_kind("{% set ns = namespace() %}{% macro start() %}{% endmacro %}{% set ns.m = start %}"
                 "{% for i in range(99999) %}{{ ns.m() }}{% macro next() %}{% macro inner() %}x"
                 "{% endmacro %}{% set ns.m = inner %}{% endmacro %}{{ next() }}{% endfor %}")
          .has_value());
}

TEST_CASE("values that hold themselves are let go") {
  CHECK(render("{% set ns = namespace() %}{% set ns.me = ns %}{% set ns.list = [ns] %}ok") == "ok");
  CHECK(render("{% macro m() %}{{ m is defined }}{% endmacro %}{{ m() }}") == "True");
  // Printed, it is one object's name, not an endless walk.
  CHECK(render("{% set ns = namespace() %}{% set ns.me = [ns] %}{{ ns.me }}") == "[<Namespace>]");
}

TEST_CASE("limits are the host's") {
  JinjaLimits limits;
  limits.steps = 100;
  CHECK_THROWS_AS(render_all("{% for i in range(1000) %}x{% endfor %}", "{}", limits), JinjaError);
  limits = {};
  limits.output_bytes = 10;
  CHECK_THROWS_AS(render_all("{{ 'x' * 10000 }}", "{}", limits), JinjaError);
  limits = {};
  limits.depth = 5;
  CHECK_THROWS_AS(render_all("{{ ((((((((1)+1)+1)+1)+1)+1)+1)+1) }}", "{}", limits), JinjaError);
  CHECK(render_all("{{ 1 }}", "{}", limits).text == "1");
}

TEST_CASE("a large context renders") {
  std::string context = R"({"messages": [)";
  for (int i = 0; i < 2000; ++i) {
    if (i != 0) context += ",";
    context += R"({"role": "user", "content": ")" + std::string(2000, 'a') + "\"}";
  }
  context += "]}";
  const std::string text = render(
      "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content | trim + "
      "'<|im_end|>\\n' }}"
      "{% endfor %}",
      context);
  CHECK(text.size() == 2000 * (2000 + 28));
}

TEST_CASE("cut and broken templates never crash") {
  const std::string source =
      "{%- macro m(a, b=[1, {'k': 'v'}]) -%}{{ a.b[1:2]('x', *y, **z) | map('upper') | list }}"
      "{%- endmacro -%}{% for x, (y, z) in d.items() if x is not none recursive %}{{ loop.index ~ "
      "'a\\u00e9' }}"
      "{% else %}{# c #}{% endfor %}{% raw %}{{ }}{% endraw %}{% set ns.a = 1 if b else 2 %}"
      "{% call(q) m(1) %}{% generation %}{{ -1 ** 2 // 3 }}{% endgeneration %}{% endcall %}";
  for (std::size_t i = 0; i <= source.size(); ++i) {
    (void)error_kind(source.substr(0, i), R"({"d": {}})");
    (void)error_kind(source.substr(i), R"({"d": {}})");
    std::string changed = source;
    for (const char c : {'{', '}', '%', '"', '(', '\0', '\xff', '|', '\\'}) {
      if (i < changed.size()) changed[i] = c;
      (void)error_kind(changed, R"({"d": {"a": [1, 2]}})");
    }
  }
  CHECK(true);
}
