// What a request puts into a template: JSON as the value of a variable, and as messages and tools
// of a chat. The value survives tojson, and every byte of it in a prompt is known as input.
#include "base/file_map.h"
#include "fuzz/jinja_promises.h"
#include "text/chat.h"

namespace {

using namespace linnet;

// Filters and operators that go through values of any kind.
constexpr const char* kTemplates[] = {
    "{{ x }}{{ x | string | length }}{{ x ~ x }}",
    "{{ x | tojson(indent=2) }}{{ x | pprint }}",
    "{% for y in x %}{{ loop.index }}{{ y }}{{ y == x }}{% else %}none{% endfor %}",
    "{{ x | length }}{{ x | first }}{{ x | last }}{{ x[0] }}{{ x[::-1] }}{{ x[1:] }}",
    "{% for k, v in x.items() %}{{ k }}={{ v }}{{ v | upper }}{% endfor %}",
    "{{ x | sort | join(',') }}{{ x | unique | list }}{{ x | sum }}{{ x | max }}",
    "{{ x | groupby('k') | list }}{{ x | map(attribute='k') | list }}",
    "{{ x | int }}{{ x | float }}{{ x | round(2) }}{{ x ** 2 }}{{ x // 3 }}{{ -x }}{{ x % 7 }}",
    "{{ x.strip() }}{{ x.split() }}{{ x.title() }}{{ x | wordwrap(9) }}{{ x | indent }}",
    "{{ x | replace('a', 'bb') }}{{ '%s %r %5.2f' | format(x, x, x) }}",
    "{{ '{:>9} {!r}'.format(x, x) }}{{ x | dictsort }}{{ x | batch(2) | list }}",
    "{{ x is mapping }}{{ x is sequence }}{{ x is number }}{{ x in [x] }}{{ x < x }}",
};

const std::vector<JinjaTemplate>& templates() {
  static const std::vector<JinjaTemplate> made = [] {
    std::vector<JinjaTemplate> all;
    for (const char* source : kTemplates) all.push_back(JinjaTemplate::parse(source, "fuzz"));
    return all;
  }();
  return made;
}

const std::vector<ChatTemplate>& chat_templates() {
  static const std::vector<ChatTemplate> made = {
      ChatTemplate::chatml(),
      ChatTemplate(
          read_text_file(LINNET_SOURCE_DIR "/models/tiny-smollm3-chat/chat_template.jinja"),
          "tiny"),
      ChatTemplate(
          "{% for m in messages %}{{ m | tojson }}{% for c in m.tool_calls or [] %}"
          "{{ c.function.name ~ c.function.arguments }}{% endfor %}{% endfor %}{{ tools }}",
          "calls")};
  return made;
}

void check_value(const Json& value) {
  static const JinjaTemplate to_json = JinjaTemplate::parse("{{ x | tojson }}", "tojson");
  Json context = Json::object();
  context.set("x", value);
  fuzz::accepts([&] {
    const JinjaOutput output = to_json.render(context, fuzz::small_jinja_options());
    fuzz::expect(Json::parse(output.text, "again") == value, "tojson gives back the value");
  });
  for (const JinjaTemplate& each : templates()) {
    fuzz::accepts([&] { fuzz::check_output(each.render(context, fuzz::small_jinja_options())); });
  }
}

void check_chat(const Json& value) {
  const Json* messages = value.find("messages");
  const Json* tools = value.find("tools");
  const Json* extra = value.find("extra");
  ChatOptions options;
  options.now = fuzz::small_jinja_options().now;
  options.limits = fuzz::small_jinja_options().limits;
  if (extra != nullptr) options.extra = *extra;
  for (const ChatTemplate& each : chat_templates()) {
    fuzz::accepts([&] {
      const Prompt prompt = each.render(messages != nullptr ? *messages : value,
                                        tools != nullptr ? *tools : Json(), options);
      fuzz::expect(!find_invalid_utf8(prompt.text), "a prompt is valid UTF-8");
      fuzz::check_spans(prompt.input_spans, prompt.text);
      fuzz::check_spans(prompt.generation_spans, prompt.text);
    });
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Json value;
  if (!fuzz::accepts([&] { value = Json::parse(fuzz::text_of(data, size), "fuzz"); })) return 0;
  check_value(value);
  if (value.is_object() || value.is_array()) check_chat(value);
  return 0;
}
