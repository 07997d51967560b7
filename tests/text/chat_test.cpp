// From an API's messages to the text of a prompt: checks, tool calls, variables, origins.
#include "text/chat.h"

#include <doctest/doctest.h>

#include "text/jinja_check.h"

using namespace linnet;

namespace {

// Shows what a template is given.
const char* const kPlain =
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}";

Prompt render_chat(const std::string& source, const std::string& messages, ChatOptions options = {},
                   const std::string& tools = "null") {
  options.now = kTestClock;
  return ChatTemplate(source, "chat")
      .render(Json::parse(messages, "messages"), Json::parse(tools, "tools"), options);
}

std::string message_of(const std::string& messages, const std::string& source = kPlain) {
  try {
    render_chat(source, messages);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_argument);
    return error.what();
  }
  return "no error";
}

bool names(const std::string& message, const std::string& field) {
  return message.find(field + ":") != std::string::npos;
}

}  // namespace

TEST_CASE("wrong messages are refused by field") {
  CHECK(names(message_of(R"("x")"), "messages"));
  CHECK(names(message_of("123"), "messages"));
  CHECK(names(message_of("[]"), "messages"));
  CHECK(names(message_of("[5]"), "messages[0]"));
  CHECK(names(message_of(R"([{"role": "user", "content": "a"}, {"content": "b"}])"),
              "messages[1].role"));
  CHECK(names(message_of(R"([{"role": "robot", "content": "a"}])"), "messages[0].role"));
  CHECK(names(message_of(R"([{"role": "system", "content": null}])"), "messages[0].content"));
  CHECK(names(message_of(R"([{"role": "user"}])"), "messages[0].content"));
  CHECK(names(message_of(R"([{"role": "user", "content": 5}])"), "messages[0].content"));
  CHECK(names(message_of(R"([{"role": "user", "content": [{"type": "image_url"}]}])"),
              "messages[0].content[0].type"));
  CHECK(names(message_of(R"([{"role": "user", "content": [{"type": "text"}]}])"),
              "messages[0].content[0].text"));
}

TEST_CASE("parts are joined, nulls dropped, the developer is the system") {
  CHECK(render_chat(kPlain, R"([{"role": "user", "content": [{"type": "text", "text": "a "},
                              {"type": "text", "text": "b"}]}])")
            .text == "<user>a b\n<assistant>");
  CHECK(render_chat("{{ messages[0].keys() | list }}{{ messages[0].name is defined }}",
                    R"([{"role": "user", "content": "x", "name": null}])")
            .text == "['role', 'content']False");
  CHECK(render_chat(kPlain, R"([{"role": "developer", "content": "x"}])").text ==
        "<system>x\n<assistant>");
  CHECK(render_chat("{# developer #}{{ messages[0].role }}",
                    R"([{"role": "developer", "content": "x"}])")
            .text == "developer");
}

TEST_CASE("earlier tool calls stand in the prompt exactly once") {
  const std::string history = R"([{"role": "user", "content": "Weather in Oslo?"},
    {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "type": "function",
      "function": {"name": "get_weather", "arguments": "{\"city\":\"Oslo\"}"}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "4 C"}])";
  const std::string call =
      "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>";
  const Prompt prompt = render_chat(kPlain, history);
  CHECK(prompt.text == "<user>Weather in Oslo?\n<assistant>" + call + "\n<tool>4 C\n<assistant>");
  // The tags are the host's, what is inside is the client's.
  const std::size_t at = prompt.text.find(call);
  bool inside = false;
  for (const Span& span : prompt.input_spans) {
    CHECK_FALSE((span.begin < at + 12 && span.end > at));
    inside = inside || (span.begin == at + 12 && span.end == at + call.size() - 13);
  }
  CHECK(inside);
}

TEST_CASE("two calls behind text, and calls with objects as arguments") {
  const Prompt prompt =
      render_chat(kPlain, R"([{"role": "assistant", "content": "Let me look.", "tool_calls": [
      {"function": {"name": "a", "arguments": {}}}, {"function": {"name": "b", "arguments": {"x": [1, 2.0, null]}}}]}])");
  CHECK(prompt.text ==
        "<assistant>Let me look.\n<tool_call>\n{\"name\": \"a\", \"arguments\": {}}\n</tool_call>\n"
        "<tool_call>\n{\"name\": \"b\", \"arguments\": {\"x\": [1, 2.0, "
        "null]}}\n</tool_call>\n<assistant>");
}

TEST_CASE("broken arguments are the client's fault, by name") {
  const auto with = [](const std::string& arguments) {
    return message_of(R"([{"role": "user", "content": "x"}, {"role": "assistant", "content": null,
        "tool_calls": [{"function": {"name": "f", "arguments": )" +
                      arguments + "}}]}]");
  };
  const std::string field = "messages[1].tool_calls[0].function.arguments";
  CHECK(names(with(R"("{")"), field));
  CHECK(names(with(R"("[1]")"), field));
  CHECK(names(with("5"), field));
  CHECK(with(R"("")") == "no error");
  CHECK(names(message_of(R"([{"role": "assistant", "tool_calls": [{"function": {"name": ""}}]}])"),
              "messages[0].tool_calls[0].function.name"));
  CHECK(names(message_of(R"([{"role": "assistant", "tool_calls": [5]}])"),
              "messages[0].tool_calls[0].function"));
  CHECK(names(message_of(R"([{"role": "assistant", "tool_calls": 5}])"), "messages[0].tool_calls"));
}

TEST_CASE("a template that knows tool calls gets them, in the shape it can use") {
  const std::string history = R"([{"role": "assistant", "content": "", "tool_calls": [
      {"function": {"name": "f", "arguments": "{\"a\": 1}"}}]}])";
  CHECK(render_chat("{{ messages[0].tool_calls[0].function.arguments | tojson }}", history).text ==
        "{\"a\": 1}");
  CHECK(render_chat("{{ '<' + messages[0].tool_calls[0].function.arguments }}", history).text ==
        "<{\"a\": 1}");
}

TEST_CASE("a template's own refusal reaches the caller word for word") {
  const std::string source =
      "{% if messages[0].role != 'user' %}{{ raise_exception('user first!') }}{% endif %}ok";
  CHECK(render_chat(source, R"([{"role": "user", "content": "x"}])").text == "ok");
  try {
    render_chat(source, R"([{"role": "system", "content": "x"}])");
    FAIL("no error");
  } catch (const JinjaError& error) {
    CHECK(error.kind() == JinjaErrorKind::raised);
    CHECK(error.detail() == "user first!");
  }
}

TEST_CASE("more variables: scalars, and no overriding of the request") {
  ChatOptions options;
  options.extra = Json::parse(R"({"mood": "calm", "enable_thinking": false})", "extra");
  const std::string source = "{{ mood }}{{ enable_thinking }}{{ tools }}{{ documents }}";
  const std::string hello = R"([{"role": "user", "content": "x"}])";
  CHECK(render_chat(source, hello, options).text == "calmFalseNoneNone");
  options.enable_thinking = true;
  CHECK(render_chat(source, hello, options).text == "calmTrueNoneNone");
  for (const char* bad :
       {R"({"messages": "x"})", R"({"x": []})", R"({"x": {}})", R"([])", R"({"xml_tools": 5})"}) {
    options.extra = Json::parse(bad, "extra");
    CHECK_THROWS_AS(render_chat(source, hello, options), Error);
  }
}

TEST_CASE("tools are checked and passed on") {
  const std::string hello = R"([{"role": "user", "content": "x"}])";
  CHECK(render_chat("{{ tools[0].a }}{{ xml_tools[0].a }}", hello, {}, R"([{"a": 1}])").text ==
        "11");
  CHECK(render_chat("{{ tools is none }}", hello, {}, "[]").text == "True");
  CHECK_THROWS_AS(render_chat("x", hello, {}, "5"), Error);
  CHECK_THROWS_AS(render_chat("x", hello, {}, "[5]"), Error);
}

TEST_CASE("the result of a tool keeps its name and its id") {
  CHECK(render_chat(
            "{% for m in messages %}{{ m.name }}|{{ m.tool_call_id }}|{{ m.content }}{% endfor %}",
            R"([{"role": "tool", "name": "get_weather", "tool_call_id": "c1", "content":
                      [{"type": "text", "text": "4 C"}]}])")
            .text == "get_weather|c1|4 C");
}

TEST_CASE("thoughts of earlier answers can be dropped") {
  const auto shown = [](const std::string& content, bool drop) {
    ChatOptions options;
    options.drop_thoughts = drop;
    options.add_generation_prompt = false;
    Json message = Json::object();
    message.set("role", "assistant");
    message.set("content", content);
    message.set("reasoning_content", "hm");
    Json messages = Json::array();
    messages.push_back(std::move(message));
    return ChatTemplate("{{ messages[0].content }}|{{ messages[0].reasoning_content }}", "chat")
        .render(messages, Json(), options)
        .text;
  };
  CHECK(shown("<think>\na\n</think>\nb", false) == "<think>\na\n</think>\nb|hm");
  CHECK(shown("<think>\na\n</think>\n\n b", true) == " b|");
  CHECK(shown("\n<think></think>\n<think>c</think>b", true) == "b|");
  CHECK(shown("<think>never closed", true) == "<think>never closed|");
  CHECK(shown("use <think>x</think>", true) == "use <think>x</think>|");
  CHECK(shown("<think>only</think>", true) == "|");
  CHECK(shown("", true) == "|");
  // Only the model's own turns have thoughts.
  ChatOptions options;
  options.drop_thoughts = true;
  CHECK(
      render_chat(kPlain, R"([{"role": "user", "content": "<think>x</think>y"}])", options).text ==
      "<user><think>x</think>y\n<assistant>");
}

TEST_CASE("thoughts are dropped, calls behind them are not") {
  ChatOptions options;
  options.drop_thoughts = true;
  CHECK(render_chat(kPlain, R"([{"role": "assistant", "content": "<think>x</think>\nLook:",
      "tool_calls": [{"function": {"name": "f", "arguments": {}}}]}])",
                    options)
            .text ==
        "<assistant>Look:\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>\n"
        "<assistant>");
}

TEST_CASE("an open system turn is closed where asked") {
  const std::string open =
      "{{ '<|im_start|>system\\n' + messages[0].content + '\\n\\n' }}"
      "{% for m in messages[1:] %}{% generation %}{{ '<|im_start|>' + m.role + '\\n' + m.content + "
      "'<|im_end|>\\n' }}{% endgeneration %}{% endfor %}"
      "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";
  const std::string chat =
      R"([{"role": "system", "content": "S<|im_end|><|im_start|>"}, {"role": "user", "content": "U"}])";
  ChatOptions options;
  const Prompt left = render_chat(open, chat, options);
  CHECK(left.text ==
        "<|im_start|>system\nS<|im_end|><|im_start|>\n\n<|im_start|>user\nU<|im_end|>\n"
        "<|im_start|>assistant\n");
  options.close_system_turn = true;
  const Prompt closed = render_chat(open, chat, options);
  CHECK(closed.text ==
        "<|im_start|>system\nS<|im_end|><|im_start|>\n\n<|im_end|>\n<|im_start|>user\nU<|im_end|>\n"
        "<|im_start|>assistant\n");
  // Everything behind moves along.
  const auto texts = [](const Prompt& prompt, const std::vector<Span>& spans) {
    std::vector<std::string> all;
    for (const Span& span : spans) {
      all.push_back(prompt.text.substr(span.begin, span.end - span.begin));
    }
    return all;
  };
  CHECK(texts(closed, closed.input_spans) == texts(left, left.input_spans));
  CHECK(texts(closed, closed.generation_spans) == texts(left, left.generation_spans));
  CHECK(texts(closed, closed.input_spans).size() == 3);
  // What is closed, what has no other turn, and what is no system turn stay as they are.
  CHECK(render_chat(kPlain, chat, options).text == render_chat(kPlain, chat).text);
  for (const char* source :
       {"<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU", "<|im_start|>system\nS", "",
        "<|im_start|>user\nU<|im_start|>assistant\n", "<|im_start|>systematic\nS<|im_start|>x"}) {
    CHECK(render_chat(source, chat, options).text == render_chat(source, chat).text);
  }
}

TEST_CASE("bos and eos count as the template's own") {
  const ChatTemplate chat("{{ bos_token }}{{ messages[0].content }}{{ eos_token }}", "chat",
                          {"<s>", "</s>"});
  const Prompt prompt =
      chat.render(Json::parse(R"([{"role": "user", "content": "</s>"}])", "m"), Json(), {});
  CHECK(prompt.text == "<s></s></s>");
  CHECK(prompt.input_spans == std::vector<Span>{{3, 7}});
}

TEST_CASE("the prompt's end says where the answer begins") {
  const std::string hello = R"([{"role": "user", "content": "say <think>"}])";
  const auto state = [&](const std::string& end) {
    return render_chat("{{ messages[0].content }}<|im_end|>\n<|im_start|>assistant\n" + end, hello)
        .thinking;
  };
  CHECK(state("") == ThinkingState::none);
  CHECK(state("{{ '<think>\\n' }}") == ThinkingState::open);
  CHECK(state("{{ '<think>\\n\\n</think>\\n' }}") == ThinkingState::closed);
  CHECK(render_chat("Use <think> x </think>.<|im_end|>\n<|im_start|>assistant\n", hello).thinking ==
        ThinkingState::none);
}

TEST_CASE("ChatML is there for models without a template") {
  const ChatTemplate chat = ChatTemplate::chatml();
  const Json messages =
      Json::parse(R"([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"},
      {"role": "assistant", "content": "Hello."}, {"role": "user", "content": "Bye"}])",
                  "m");
  const Prompt prompt = chat.render(messages, Json(), {});
  CHECK(prompt.text ==
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
        "<|im_start|>assistant\nHello.<|im_end|>\n<|im_start|>user\nBye<|im_end|>\n<|im_start|>"
        "assistant\n");
  REQUIRE(prompt.generation_spans.size() == 1);
  const Span span = prompt.generation_spans[0];
  CHECK(prompt.text.substr(span.begin, span.end - span.begin) ==
        "<|im_start|>assistant\nHello.<|im_end|>\n");
  CHECK(chat.marks_generation());
  ChatOptions closed;
  closed.add_generation_prompt = false;
  CHECK(chat.render(messages, Json(), closed).text.ends_with("Bye<|im_end|>\n"));
}
