#include "text/output_parser.h"

#include <doctest/doctest.h>

#include "text/output_ids.h"
#include "text/output_pieces.h"
#include "text/toy_tokenizer.h"
#include "time_limit.h"

using namespace linnet;
using pieces::at_every_cut;
using pieces::parsed;

namespace {

constexpr OutputParserOptions kPlain{};
constexpr OutputParserOptions kXml{false, ToolTags::xml};
constexpr OutputParserOptions kBoth{false, ToolTags::both};

std::string repeated(std::string_view unit, std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += unit;
  return text;
}

std::string call_text(std::string_view json) {
  return "<tool_call>\n" + std::string(json) + "\n</tool_call>";
}

}  // namespace

TEST_CASE("reasoning and content come apart at every cut") {
  CHECK(at_every_cut("<think>plan</think>\n\nYes < 3", kPlain) == "plan|Yes < 3|||stop");
  CHECK(at_every_cut("Hello.", kPlain) == "-|Hello.|||stop");
  CHECK(at_every_cut("2+2</think>4", {.starts_in_reasoning = true}) == "2+2|4|||stop");
  CHECK(at_every_cut("<think>\n one\n</think> <think>two", kPlain) == "one\n\ntwo||||stop");
  CHECK(at_every_cut("Hi <think>x</think>", kPlain) == "-|Hi <think>x</think>|||stop");
}

TEST_CASE("text goes out as soon as it can be no tag") {
  OutputParser parser(kXml);
  const auto said = [&](std::string_view text) {
    std::string out;
    for (const OutputDelta& delta : parser.push(text)) out += delta.text;
    return out;
  };
  CHECK(said("a <") == "a");
  CHECK(said(" ") == " <");
  CHECK(said("b<tool") == " b");
  CHECK(said("s") == "<tools");
  CHECK(said("</thi") == "</thi");
  CHECK(said("  ") == "");
  CHECK(parser.finish(OutputEnd::stop).at(0).text == "  ");
}

TEST_CASE("the rows on tool calls") {
  CHECK(at_every_cut("<think>maybe <tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call></think>"
                     "Done.",
                     kXml) ==
        "maybe <tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>|Done.|||stop");
  const std::string example = R"(Example: {"name":"rm","arguments":{}})";
  CHECK(at_every_cut(example, kXml) == "-|" + example + "|||stop");
  CHECK(at_every_cut(call_text(R"({"name":"list","arguments":{}})"), kXml) ==
        "-|-|list({})||tool_calls");
  CHECK(at_every_cut(call_text(R"({"name":"f","arguments":{"o":{"a":[1,{"b":null}]}}})"), kXml) ==
        R"(-|-|f({"o":{"a":[1,{"b":null}]}})||tool_calls)");
  CHECK(at_every_cut("a " + call_text(R"({"name":"f"})") + " b\n" + call_text(R"({"name":"g"})"),
                     kXml) == "-|a\nb|f({})g({})||tool_calls");
}

TEST_CASE("arguments are their source text, byte for byte") {
  const std::string source = "{ \"a\" :\t1.0,\"a\": 1e2 , \"\\u00e9\":\"</tool_call>\\/\"\n}";
  OutputParser parser(kXml);
  parser.push(call_text("{\"arguments\": " + source + ", \"na\\u006de\": \"f\"}"));
  parser.finish(OutputEnd::stop);
  REQUIRE(parser.result().tool_calls.size() == 1);
  CHECK(parser.result().tool_calls[0] == ToolCall{"f", source});
}

TEST_CASE("what is no call stays as it was written") {
  for (const char* json : {R"({"name":"f","arguments":null})", R"({"name":""})", R"({"name":5})",
                           R"(["f"])", R"({"name":"f",})", R"({"name":"f" "arguments":{}})",
                           R"({"name":"f","arguments":"{"})", R"({'name':'f'})", "NaN", "1", ""}) {
    const std::string text = call_text(json);
    CHECK(at_every_cut(text, kXml) == "-|" + text + "||error|stop");
  }
  const std::string raw = call_text("{\"name\":\"a\nb\"}");
  CHECK(at_every_cut(raw, kXml) == "-|" + raw + "||error|stop");
}

TEST_CASE("output that is cut") {
  const std::string whole = R"(<tool_call>{"name":"f"})";
  CHECK(at_every_cut(whole + "\n</tool_", kXml, OutputEnd::length) == "-|-|f({})||length");
  CHECK(at_every_cut(whole, kXml) == "-|-|f({})||tool_calls");
  CHECK(at_every_cut("<tool_call>{\"name\":", kXml, OutputEnd::length) ==
        "-|<tool_call>{\"name\":||error|length");
  CHECK(at_every_cut("<think>so ", kXml, OutputEnd::length) == "so||||length");
}

TEST_CASE("tags have words, and are known") {
  for (std::size_t i = 0; i < kToolTagWords.size(); ++i) {
    CHECK(tool_tags_of(kToolTagWords[i]) == static_cast<ToolTags>(i));
  }
  CHECK_FALSE(tool_tags_of("XML").has_value());
  CHECK_FALSE(tool_tags_of("").has_value());
  for (const char* tag : {"<think>", "</think>", "<tool_call>", "</code>"})
    CHECK(is_output_tag(tag));
  for (const char* text : {"<thin", "think", "", "<|im_end|>"}) CHECK_FALSE(is_output_tag(text));
}

TEST_CASE("a family of tags that was not asked for is text") {
  const std::string xml = call_text(R"({"name":"f"})");
  CHECK(parsed(xml, {}, {false, ToolTags::python}) == "-|" + xml + "|||stop");
  CHECK(parsed("<code>f()</code>", {}, kXml) == "-|<code>f()</code>|||stop");
  CHECK(at_every_cut("<code>f(a='é')</code>" + xml, kBoth) ==
        "-|-|f({\"a\": \"é\"})f({})||tool_calls");
}

TEST_CASE("tag soup: every cutting gives the same, and deltas joined are the result") {
  static constexpr std::string_view kParts[] = {"<think>",
                                                "</think>",
                                                "<tool_call>",
                                                "</tool_call>",
                                                "<code>",
                                                "</code>",
                                                "{",
                                                "}",
                                                "\"name\"",
                                                ":",
                                                "\"f\"",
                                                "f(a=1)",
                                                " ",
                                                "\n",
                                                "<",
                                                "</",
                                                "x",
                                                "5",
                                                "{\"name\":\"f\"}",
                                                ";",
                                                "é",
                                                "<tool_call>{\"name\":\"g\"}</tool_call>"};
  std::mt19937 random(7);
  for (int round = 0; round < 1500; ++round) {
    std::string text;
    for (std::size_t count = random() % 14; count > 0; --count) {
      text += kParts[random() % std::size(kParts)];
    }
    const OutputParserOptions options{random() % 4 == 0, static_cast<ToolTags>(random() % 4)};
    const OutputEnd end = random() % 2 == 0 ? OutputEnd::stop : OutputEnd::length;
    const std::string whole = parsed(text, {}, options, end);
    CHECK(parsed(text, pieces::each_byte(text), options, end) == whole);
    std::vector<std::size_t> cuts;
    for (std::size_t at = random() % 5; at < text.size(); at += random() % 9) cuts.push_back(at);
    CHECK(parsed(text, cuts, options, end) == whole);
  }
}

TEST_CASE("a megabyte of anything takes linear time") {
  constexpr std::size_t kBytes = 1 << 20;
  for (const char* unit : {"<", "<tool_call>", "<tool_call>[", "[", " ", "</tool_call>", "<code>",
                           "<code>f(a=[", "<tool_call>1 </tool_cal", "<think>", "</think><think>",
                           "<code>f(a=1)</code>", "<tool_call>{\"name\":\"f\"}</tool_call>"}) {
    const std::string text = repeated(unit, kBytes);
    for (const bool reasoning : {false, true}) {
      const linnet::testing::ProcessorWatch watch;
      parsed(text, pieces::each_byte(text), {reasoning, ToolTags::both});
      CAPTURE(unit);
      CHECK(watch.seconds() < linnet::testing::time_limit(5.0));
    }
  }
}

TEST_CASE("brackets that nest a million deep are read without recursion") {
  constexpr std::size_t kDepth = 1 << 19;
  const std::string nested = std::string(kDepth, '[') + std::string(kDepth, ']');
  const std::string open = "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":";
  OutputParser parser(kXml);
  parser.push(open + nested + "}}</tool_call>");
  parser.finish(OutputEnd::stop);
  REQUIRE(parser.result().tool_calls.size() == 1);
  CHECK(parser.result().tool_calls[0].arguments == "{\"a\":" + nested + "}");
}

TEST_CASE("ids give what the text gives, tags marked as control tokens too") {
  toy::ToyVocabulary toy;
  const TokenId open = toy.special("<tool_call>");
  const TokenId close = toy.special("</tool_call>");
  const TokenId end = toy.special("<|im_end|>");
  const Tokenizer tokenizer(toy.data);
  OutputIdParser parser(tokenizer, kXml);
  parser.push(open);
  for (const char c : std::string_view(R"({"name":")")) {
    parser.push(static_cast<unsigned char>(c));
  }
  parser.push(end);
  for (const char c : std::string_view("é\"}")) parser.push(static_cast<unsigned char>(c));
  parser.push(close);
  parser.finish(OutputEnd::stop);
  CHECK(pieces::shown(parser.result()) == "-|-|<|im_end|>é({})||tool_calls");
}
