#include "text/answer.h"

#include <doctest/doctest.h>

#include <cmath>

#include "time_limit.h"

using namespace linnet;

namespace {

std::string answer_text(const std::string& category, const std::string& confidence,
                        const std::string& reply = "\"r\"") {
  return "{\"category\": " + category + ", \"confidence\": " + confidence +
         ", \"reply\": " + reply + "}";
}

double confidence(const std::string& source) {
  return extract_answer(answer_text("\"billing\"", source)).confidence;
}

std::string_view fault(const std::string& text) {
  return answer_fault_name(extract_answer(text).fault);
}

}  // namespace

TEST_CASE("a whole answer, whatever stands around it") {
  const std::string json = answer_text("\" Billing \\n\"", "0.9", "\" r\\u00e9 \"");
  for (const std::string& text :
       {json, "```json\n" + json + "\n```", "<think>{\"category\":\"x\"}</think> " + json,
        "Use {x} { like: " + json, "[" + json + "]", json + "{\"a\": 1}"}) {
    CAPTURE(text);
    const RouterAnswer answer = extract_answer(text);
    CHECK(answer.ok());
    CHECK(answer.category == "billing");
    CHECK(answer.confidence == 0.9);
    CHECK(answer.reply == " ré ");
    CHECK_FALSE(answer.escalate);
  }
}

TEST_CASE("faults lead to a person") {
  const std::string json = answer_text("\"billing\"", "0.9");
  CHECK(fault("<think>" + json) == "truncated_reasoning");
  CHECK(fault("none here") == "no_object");
  CHECK(fault(json.substr(0, json.size() - 1)) == "no_object");
  CHECK(fault("{\"category\": \"billing\", \"meta\": " + json + ", }") == "no_object");
  CHECK(fault("{\"result\": " + json + "}") == "missing_category");
  CHECK(fault(answer_text("null", "1")) == "category_not_text");
  CHECK(fault(json + answer_text("\"account\"", "1")) == "conflict");
  CHECK(fault(answer_text("\"billing issue\"", "1")) == "unknown_label");
  CHECK(fault(answer_text("\"É\"", "1") + answer_text("\"é\"", "1")) == "unknown_label");
  const RouterAnswer answer = extract_answer("");
  CHECK(answer.category == "general");
  CHECK(answer.confidence == 0);
  CHECK(answer.escalate);
  CHECK_FALSE(answer.reply);
}

TEST_CASE("confidence is never raised") {
  CHECK(confidence("0.7") == 0.7);
  CHECK_FALSE(extract_answer(answer_text("\"general\"", "0.7")).escalate);
  CHECK(extract_answer(answer_text("\"general\"", "0.69999")).escalate);
  CHECK(confidence("\" 80 % \"") == 0.8);
  CHECK(confidence("1E0") == 1.0);
  CHECK_FALSE(std::signbit(confidence("-0.0")));
  for (const char* wrong :
       {"80",       "\"80\"",   "1.2",      "-0.1",    "1e400",    "1e-400",    "null",
        "true",     "\"0,8\"",  "\"120%\"", "\".8\"",  "\"+0.8\"", "\"80  %\"", "\"%\"",
        "\"80%%\"", "\"0.8f\"", "\"08%\"",  "\"inf\"", "[0.8]",    "\"0x1\""}) {
    CAPTURE(wrong);
    CHECK(confidence(wrong) == 0);
  }
}

TEST_CASE("a reply is text") {
  for (const char* wrong : {"null", "5", "[\"a\"]", "\"\"", "\" \\n\\t\""}) {
    const RouterAnswer answer = extract_answer(answer_text("\"billing\"", "1", wrong));
    CHECK(answer.ok());
    CHECK_FALSE(answer.reply);
    CHECK(answer.escalate);
  }
  // The last of doubled keys counts, in its escaped spelling too.
  const RouterAnswer last = extract_answer(
      R"({"category":"billing","categor\u0079":"account","confidence":1,"reply":"\ud83d\ude42"})");
  CHECK(last.category == "account");
  CHECK(last.reply == "🙂");
}

TEST_CASE("a megabyte of anything takes linear time") {
  for (const char* unit : {"{", "{\"a\":", "[", "<think>", "{}", "{\"category\":\"billing\"}", "\"",
                           "{\"a\":1,", "<think></think>"}) {
    std::string text;
    while (text.size() < (1 << 20)) text += unit;
    const linnet::testing::ProcessorWatch watch;
    extract_answer(text);
    CAPTURE(unit);
    CHECK(watch.seconds() < linnet::testing::time_limit(2.0));
  }
}
