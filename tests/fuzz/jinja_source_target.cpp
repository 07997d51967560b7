// Jinja templates: parsing and rendering end in text or in JinjaError, within the limits, and
// rendering twice gives the same.
#include "fuzz/jinja_promises.h"

namespace {

using namespace linnet;

const Json& context() {
  static const Json made = Json::parse(R"({
    "messages": [{"role": "system", "content": "Be brief. /no_think"},
                 {"role": "user", "content": "Hi <b>you</b>  "},
                 {"role": "assistant", "content": "<think>\nhm\n</think>\nOk", "tool_calls": [
                   {"id": "c1", "function": {"name": "f", "arguments": {"x": [1, 2.5, null]}}}]}],
    "tools": [{"type": "function", "function": {"name": "f", "description": "it's"}}],
    "s": "alpha Beta\t\u00e9\n", "n": 7, "f": 2.5, "big": 123456789012345678901234567890,
    "t": true, "nil": null, "xs": [3, 5, 7, 3], "d": {"b": 1, "a": {"k": "v"}},
    "rows": [{"k": 1, "v": "x"}, {"k": 2, "v": "y"}, {"k": 1, "v": "z"}],
    "add_generation_prompt": true, "bos_token": "<s>", "eos_token": "</s>"})",
                                       "context");
  return made;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string source(fuzz::text_of(data, size));
  fuzz::accepts([&] {
    const JinjaTemplate made = JinjaTemplate::parse(source, "fuzz");
    const JinjaOutput output = made.render(context(), fuzz::small_jinja_options());
    fuzz::check_output(output);
    fuzz::check_spans(output.generation_spans, output.text);
    const JinjaOutput again = made.render(context(), fuzz::small_jinja_options());
    fuzz::expect(again.text == output.text, "rendering twice gives the same text");
  });
  return 0;
}
