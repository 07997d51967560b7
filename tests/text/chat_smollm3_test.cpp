// What SmolLM3's template does, quirks and all, on the published template (where it is on this
// machine) and on the tiny model's, which must write the same prompts.
#include <doctest/doctest.h>

#include <filesystem>

#include "base/file_map.h"
#include "text/chat.h"
#include "text/jinja_check.h"
#include "text/output_parser.h"

using namespace linnet;

namespace {

const std::string kSource = LINNET_SOURCE_DIR;
const std::string kShared = LINNET_SHARED_DIR;

std::vector<std::string> templates() {
  std::vector<std::string> all = {
      read_text_file(kSource + "/models/tiny-smollm3-chat/chat_template.jinja")};
  const std::string published = kShared + "/data/smollm3_chat_template.jinja";
  if (std::filesystem::exists(published)) {
    all.push_back(read_text_file(published));
  } else {
    MESSAGE("skipped for the published template: it is not on this machine");
  }
  return all;
}

struct Request {
  std::string messages;
  std::optional<bool> thinking = std::nullopt;
  std::string tools = "null";
  std::string extra = "null";
};

Prompt prompt_of(const std::string& source, const Request& request) {
  ChatOptions options;
  options.now = kTestClock;
  options.enable_thinking = request.thinking;
  options.extra = Json::parse(request.extra, "extra");
  return ChatTemplate(source, "smollm3")
      .render(Json::parse(request.messages, "messages"), Json::parse(request.tools, "tools"),
              options);
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t hits = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++hits;
  return hits;
}

std::string system_and_user(const std::string& system) {
  return R"([{"role": "system", "content": ")" + system +
         R"("}, {"role": "user", "content": "hi /no_think"}])";
}

const std::string kHello = R"([{"role": "user", "content": "hi /no_think"}])";
const std::string kTool =
    R"([{"type": "function", "function": {"name": "f", "strict": true, "description": "it's", "parameters": null}}])";

}  // namespace

TEST_CASE("all published cases come out byte for byte") {
  for (const std::string& source : templates()) {
    const JinjaTemplate chat = JinjaTemplate::parse(source, "smollm3");
    int lines = 0;
    each_line(kSource + "/tests/golden/text/chat/smollm3_cases.jsonl", [&](const Json& row) {
      const std::string name = row.at("name").as_string();
      CAPTURE(name);
      ++lines;
      Json variables = Json::parse(R"({"tools": null, "documents": null})", "variables");
      for (const auto& [key, value] : row.at("inputs").as_object()) variables.set(key, value);
      JinjaOptions options;
      options.now = kTestClock;
      const Json* expected = row.find("expected");
      if (expected != nullptr) {
        CHECK(chat.render(variables, options).text == expected->as_string());
        return;
      }
      try {
        chat.render(variables, options);
        FAIL_CHECK("no error");
      } catch (const JinjaError& error) {
        CHECK(jinja_error_kind_name(error.kind()) == row.at("error").as_string());
      }
    });
    CHECK(lines == 150);
  }
}

TEST_CASE("the tiny model's training prompts come out byte for byte") {
  const std::string path = kShared + "/models/tiny-smollm3-chat/expected.json";
  if (!std::filesystem::exists(path)) {
    MESSAGE("skipped: the tiny model's transcripts are not on this machine");
    return;
  }
  const Json transcripts = Json::parse_file(path);
  for (const std::string& source : templates()) {
    const ChatTemplate chat(source, "smollm3");
    for (const Json& row : transcripts.at("cases").as_array()) {
      ChatOptions options;
      options.now = kTestClock;
      options.enable_thinking = row.at("enable_thinking").as_bool();
      const Prompt prompt = chat.render(row.at("messages"), row.at("xml_tools"), options);
      CHECK(prompt.text == row.at("prompt").as_string());
      const bool closed = prompt.text.ends_with("assistant\n<think>\n\n</think>\n");
      CHECK(prompt.thinking == (closed ? ThinkingState::closed : ThinkingState::none));
    }
  }
}

TEST_CASE("mode flags count in the first message only, when it is the system's") {
  for (const std::string& source : templates()) {
    const Prompt brief = prompt_of(source, {system_and_user("Be brief. /no_think"), true});
    CHECK(brief.text.find("Reasoning Mode: /no_think\n") != std::string::npos);
    CHECK(
        brief.text.find("Instructions\n\nBe brief.\n\n<|im_start|>user\nhi /no_think<|im_end|>") !=
        std::string::npos);
    CHECK(brief.thinking == ThinkingState::closed);
    const Prompt user = prompt_of(source, {kHello});
    CHECK(user.text.find("Reasoning Mode: /think\n") != std::string::npos);
    CHECK(user.text.find("user\nhi /no_think<|im_end|>") != std::string::npos);
    // Default: thinking, and the prompt ends with the bare header.
    CHECK(user.text.ends_with("<|im_start|>assistant\n"));
    CHECK(user.thinking == ThinkingState::none);
    const Prompt tank = prompt_of(source, {system_and_user("See docs/think-tank"), false});
    CHECK(tank.text.find("Reasoning Mode: /think\n") != std::string::npos);
    CHECK(tank.text.find("See docs-tank\n") != std::string::npos);
    const Prompt both = prompt_of(source, {system_and_user("both /think and /no_think")});
    CHECK(both.text.find("Reasoning Mode: /no_think\n") != std::string::npos);
    CHECK(both.text.find("Instructions\n\nboth  and\n\n") != std::string::npos);
  }
}

TEST_CASE("without tools the system turn is never closed") {
  for (const std::string& source : templates()) {
    const Prompt prompt = prompt_of(source, {system_and_user("Be brief.")});
    CHECK(prompt.text.find("Be brief.\n\n<|im_start|>user") != std::string::npos);
    CHECK(count(prompt.text, "<|im_end|>") == 1);
    CHECK(count(prompt_of(source, {kHello, std::nullopt, kTool}).text, "<|im_end|>") == 2);
  }
}

TEST_CASE("an open system turn can be closed") {
  const auto closed_prompt = [](const std::string& source, const std::string& system,
                                const std::string& tools) {
    ChatOptions options;
    options.now = kTestClock;
    options.close_system_turn = true;
    return ChatTemplate(source, "smollm3")
        .render(Json::parse(system_and_user(system), "messages"), Json::parse(tools, "tools"),
                options)
        .text;
  };
  for (const std::string& source : templates()) {
    const std::string text = closed_prompt(source, "Be brief.", "null");
    CHECK(text.find("Be brief.\n\n<|im_end|>\n<|im_start|>user") != std::string::npos);
    CHECK(count(text, "<|im_end|>") == 2);
    // With tools and with an override the template closes it.
    for (const auto& [system, tools] :
         {std::pair("Be brief.", kTool), {"/system_override x", "null"}}) {
      CHECK(closed_prompt(source, system, tools) ==
            prompt_of(source, {system_and_user(system), std::nullopt, tools}).text);
    }
  }
}

TEST_CASE("what the template itself does with contents that are no text") {
  const auto rendered = [](const std::string& source, const std::string& messages) {
    JinjaOptions options;
    options.now = kTestClock;
    Json context = Json::parse(R"({"tools": null, "add_generation_prompt": false})", "context");
    context.set("messages", Json::parse(messages, "messages"));
    return JinjaTemplate::parse(source, "smollm3").render(context, options).text;
  };
  for (const std::string& source : templates()) {
    for (const char* messages : {R"([{"role": "system", "content": null}])",
                                 R"([{"role": "system", "content": ["a"]}])", "[]"}) {
      CHECK_THROWS_AS(rendered(source, messages), JinjaError);
    }
    for (const char* content : {"null", R"([{"type": "text", "text": "LIST"}])"}) {
      const std::string text = rendered(
          source, R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": )" +
                      std::string(content) +
                      R"(, "tool_calls": [{"function": {"name": "CALL", "arguments": {}}}]}])");
      CHECK(text.ends_with("<|im_start|>assistant\n<|im_end|>\n"));
      CHECK(text.find("CALL") == std::string::npos);
    }
  }
}

TEST_CASE("the end of the prompt says where the answer is read from") {
  const auto answered = [](const Prompt& prompt, const std::string& output) {
    OutputParser parser({prompt.thinking == ThinkingState::open, ToolTags::xml});
    parser.push(output);
    parser.finish(OutputEnd::stop);
    return parser.result();
  };
  for (const std::string& source : templates()) {
    // The empty block belongs to the prompt and is not echoed.
    const ParsedOutput plain = answered(prompt_of(source, {kHello, false}), "Hello.");
    CHECK(plain.content == "Hello.");
    CHECK_FALSE(plain.reasoning.has_value());
    const ParsedOutput thought = answered(prompt_of(source, {kHello, true}), "<think>2+2</think>4");
    CHECK(thought.content == "4");
    CHECK(thought.reasoning == "2+2");
  }
  const ParsedOutput opened =
      answered(prompt_of("{{ messages[0].content }}{{ '<think>\n' }}", {kHello}), "2+2</think>4");
  CHECK(opened.content == "4");
  CHECK(opened.reasoning == "2+2");
}

TEST_CASE("the override leaves the text alone and drops tools") {
  for (const std::string& source : templates()) {
    const Prompt prompt = prompt_of(
        source, {system_and_user("/system_override Only this. /no_think"), std::nullopt, kTool});
    CHECK(prompt.text ==
          "<|im_start|>system\n Only this.<|im_end|>\n<|im_start|>user\nhi /no_think<|im_end|>\n"
          "<|im_start|>assistant\n<think>\n\n</think>\n");
  }
}

TEST_CASE("later system messages vanish, tool messages are user turns") {
  for (const std::string& source : templates()) {
    const Prompt prompt = prompt_of(
        source, {R"([{"role": "user", "content": "a"}, {"role": "system", "content": "LATER"},
        {"role": "tool", "content": "4 C"}])"});
    CHECK(prompt.text.find("LATER") == std::string::npos);
    CHECK(prompt.text.find("<|im_start|>user\n4 C<|im_end|>\n") != std::string::npos);
  }
}

TEST_CASE("parts are joined where the template itself would fail or drop them") {
  for (const std::string& source : templates()) {
    const Prompt prompt =
        prompt_of(source, {R"([{"role": "system", "content": [{"type": "text", "text": "SYS"}]},
        {"role": "user", "content": [{"type": "text", "text": "USER"}]}])"});
    CHECK(prompt.text.find("SYS") != std::string::npos);
    CHECK(prompt.text.find("<|im_start|>user\nUSER<|im_end|>") != std::string::npos);
    CHECK_THROWS_AS(prompt_of(source, {R"([{"role": "system", "content": null}])"}), Error);
    CHECK_THROWS_AS(prompt_of(source, {"[]"}), Error);
  }
}

TEST_CASE("an earlier call and its thoughts stay in the prompt") {
  const std::string history =
      R"([{"role": "user", "content": "Weather in Oslo?"}, {"role": "assistant", "content": "",
      "tool_calls": [{"function": {"name": "get_weather", "arguments": {"city": "Oslo"}}}]},
      {"role": "tool", "content": "4 C"}, {"role": "assistant", "content": "<think>\ncold\n</think>\nIt is 4."}])";
  for (const std::string& source : templates()) {
    const std::string thinking = prompt_of(source, {history, true}).text;
    CHECK(count(thinking,
                "<|im_start|>assistant\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": "
                "{\"city\": "
                "\"Oslo\"}}\n</tool_call><|im_end|>\n") == 1);
    CHECK(thinking.find("<|im_start|>assistant\n<think>\ncold\n</think>\nIt is 4.<|im_end|>") !=
          std::string::npos);
    ChatOptions dropped;
    dropped.now = kTestClock;
    dropped.enable_thinking = false;
    dropped.drop_thoughts = true;
    CHECK(ChatTemplate(source, "smollm3")
              .render(Json::parse(history, "messages"), Json(), dropped)
              .text.find("assistant\n<think>\n\n</think>\nIt is 4.<|im_end|>") !=
          std::string::npos);
    // Without thinking an empty block comes before the one that is already there.
    CHECK(prompt_of(source, {history, false})
              .text.find("assistant\n<think>\n\n</think>\n<think>\ncold") != std::string::npos);
  }
}

TEST_CASE("tools appear once, as Python prints them") {
  for (const std::string& source : templates()) {
    const std::string text = prompt_of(source, {kHello, std::nullopt, kTool}).text;
    CHECK(count(text,
                "{'type': 'function', 'function': {'name': 'f', 'strict': True, 'description': "
                "\"it's\", "
                "'parameters': None}}\n") == 1);
    const std::string python =
        prompt_of(source, {kHello, std::nullopt, "null", R"({"python_tools": ["def f(): ..."]})"})
            .text;
    CHECK(python.find("between '<code>' and '</code>' tags") != std::string::npos);
    CHECK(python.find("<tools>\ndef f(): ...\n</tools>") != std::string::npos);
    CHECK(python.find("<tool_call>") == std::string::npos);
  }
}

TEST_CASE("assistant turns are marked, header and empty thought included") {
  const std::string history =
      R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "\n\nb"}])";
  for (const std::string& source : templates()) {
    const Prompt prompt = prompt_of(source, {history, false});
    REQUIRE(prompt.generation_spans.size() == 1);
    const Span span = prompt.generation_spans[0];
    CHECK(prompt.text.substr(span.begin, span.end - span.begin) ==
          "<|im_start|>assistant\n<think>\n\n</think>\nb<|im_end|>\n");
  }
}
